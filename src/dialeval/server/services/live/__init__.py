"""Live tests: people talk with chatbots that they cannot tell apart, and others judge the talks."""
