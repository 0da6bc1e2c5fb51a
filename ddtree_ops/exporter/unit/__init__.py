"""One server's systemd unit: its state, its load, its boots."""
