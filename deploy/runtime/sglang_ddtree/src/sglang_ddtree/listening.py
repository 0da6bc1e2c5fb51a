"""Who listens on the server's port: nobody may before the start, and only our own server after it.

A foreign process there would answer the probe in the server's place, and be taken for it.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable
from pathlib import Path

_PROC = Path("/proc")
_LISTEN = "0A"  # TCP_LISTEN of include/net/tcp_states.h, as /proc/net/tcp writes it


class PortUnusable(Exception):
    """The server can't listen; the text says why, in one line."""


def taken_text(port: int) -> str:
    """What is said of a port that isn't ours."""
    return f"port {port} is taken by another process"


def check_free(address: str, port: int) -> None:
    """Bind as the server will (asyncio's create_server under uvicorn), and let go again. Raises PortUnusable."""
    try:
        found = socket.getaddrinfo(address or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in found:
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                trial.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortUnusable(taken_text(port)) from None
        raise PortUnusable(f"can't listen on {address} port {port}: {error.strerror}") from None


def is_foreign(port: int, pids: Iterable[int]) -> bool:
    """True if somebody listens on the port and certainly none of `pids`; what can't be read is given the benefit."""
    sockets = _listeners(port)
    if not sockets:
        return False
    try:
        return not any(sockets & _sockets_of(pid) for pid in pids)
    except PermissionError:
        return False


def _listeners(port: int) -> set[str]:
    """The sockets that listen on the port at any address, as the links of /proc/<pid>/fd name them (proc(5))."""
    found = set()
    for name in ("tcp", "tcp6"):
        try:
            rows = (_PROC / "net" / name).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            words = row.split()
            if words[3] == _LISTEN and int(words[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{words[9]}]")
    return found


def _sockets_of(pid: int) -> set[str]:
    """The sockets that a process has open; none if it is gone. Raises PermissionError if it isn't ours to look at."""
    found = set()
    try:
        for entry in (_PROC / str(pid) / "fd").iterdir():
            try:
                found.add(str(entry.readlink()))
            except FileNotFoundError:  # closed meanwhile
                continue
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found
