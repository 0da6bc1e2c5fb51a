"""Ports for servers that tests start."""

from __future__ import annotations

import socket

_MOST = 55535
"""The greatest that a spec may name."""


def free_port() -> int:
    """One that nothing listened on a moment ago."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port <= _MOST:
            return port
