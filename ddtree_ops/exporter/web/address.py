"""The address to listen on: `HOST:PORT`, `[IPv6]:PORT`, or `:PORT` for all addresses."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from tornado.netutil import bind_sockets

from ddtree_ops.errors import DdtreeOpsError, UsageError
from ddtree_ops.units.whole_number import MOST_PORT, whole_number

_FIXES = {
    errno.EADDRINUSE: "another program listens there (`ss -ltnp` names it; another exporter?): end it, or give another --listen",
    errno.EADDRNOTAVAIL: "no interface has that address: give --listen one of this machine's (`ip address`)",
    errno.EMFILE: "the limit of this process for open files is too low: raise it (`ulimit -n`, the unit's LimitNOFILE=)",
    errno.ENFILE: "the system has no more open files to give (sysctl fs.file-max): see what holds so many",
    errno.EACCES: "ports below 1024 need root: give --listen a higher one",
}


@dataclass(frozen=True)
class Address:
    """`host` is a name or address without brackets, empty for all addresses."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Only this machine can reach it."""
        return self.host == "localhost" or _is_loopback(self.host)


def parse(text: str) -> Address:
    """Raises UsageError, a message with an example."""
    host, colon, digits = text.rpartition(":")
    port = whole_number(digits, MOST_PORT)
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or port is None or (":" in host and not bracketed):
        raise UsageError(f"{text!r} is no address to listen on", hint="give HOST:PORT, for example 127.0.0.1:9736 or [::1]:9736")
    return Address(host[1:-1] if bracketed else host, port)


def listen(address: Address) -> list[socket.socket]:
    """Listening sockets, one for each family of addresses. Raises DdtreeOpsError, with the address and what can be done."""
    try:
        return bind_sockets(address.port, "" if address.host == "::" else address.host)  # Tornado's own "::" is IPv6 alone
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that can't be one (the codec idna)
        number = getattr(error, "errno", None) or 0
        fix = _FIXES.get(number, "give --listen an address of this machine")
        text = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or str(error)
        raise DdtreeOpsError(f"can't listen on {address}: {text}", hint=fix) from error


def own(sockets: Sequence[socket.socket]) -> tuple[str, int]:
    """Host and port of the first; `::` where that is among them, as it stands for all addresses."""
    names = [one.getsockname()[:2] for one in sockets]
    host, port = next((name for name in names if name[0] == "::"), names[0])
    return str(host), int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
