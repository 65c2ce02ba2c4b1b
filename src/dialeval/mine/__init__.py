"""Building and describing collections."""
