"""What can be done with the server. Each function is one transaction."""
