"""The exporter: what we know of a host's server, for Prometheus and for people, from a process that needs no root."""
