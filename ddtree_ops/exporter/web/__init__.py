"""Serving HTTP to Prometheus and to people: bounded in time, size and threads whatever a client does."""
