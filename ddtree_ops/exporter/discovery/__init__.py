"""Service discovery for Prometheus from an inventory: over HTTP and in a file."""
