"""The groups of server arguments, in the order of the server's own dataclass."""
