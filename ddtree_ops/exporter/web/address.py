"""The address to listen on: `HOST:PORT`, `[IPv6]:PORT`, or `:PORT` for all addresses."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from dataclasses import dataclass

from ddtree_ops.errors import DdtreeOpsError, UsageError
from ddtree_ops.units.whole_number import MOST_PORT, whole_number

_BACKLOG = 64
_FIXES = {
    errno.EADDRINUSE: "another program listens there (`ss -ltnp` names it; another exporter?): end it, or give another --listen",
    errno.EADDRNOTAVAIL: "no interface has that address: give --listen one of this machine's (`ip address`)",
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


def listen(address: Address) -> socket.socket:
    """A listening socket. Raises DdtreeOpsError, with the address and what can be done."""
    try:
        if address.host in ("", "::"):  # everywhere; create_server alone would leave IPv4 out
            return socket.create_server(("", address.port), family=_any_family(), backlog=_BACKLOG, dualstack_ipv6=_dual())
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that can't be one (the codec idna)
        number = getattr(error, "errno", None) or 0
        fix = _FIXES.get(number, "give --listen an address of this machine")
        text = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or str(error)
        raise DdtreeOpsError(f"can't listen on {address}: {text}", hint=fix) from error


def _dual() -> bool:
    return socket.has_dualstack_ipv6()


def _any_family() -> socket.AddressFamily:
    return socket.AF_INET6 if _dual() else socket.AF_INET


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
