"""systemd units and the servers in them: what they are doing, and how long it will still take."""
