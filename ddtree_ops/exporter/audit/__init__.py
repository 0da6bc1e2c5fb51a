"""The host's audit log, read on and counted."""
