"""What is installed on a host, how it is configured, and what of it differs."""
