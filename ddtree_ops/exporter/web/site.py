"""What is served to whom: the part of the server that every connection shares."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field
from functools import partial

from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.routes import Routes
from ddtree_ops.exporter.web.threads import Calls

MOST_CONNECTIONS = 64
MOST_STREAMS = 16
MOST_WAITING = 40
"""Requests for handlers that wait for a host or a server, maybe for a minute. More are sent away: with the streams they
leave connections, and turns of their own, to those that never wait.
"""
_WAITING_AT_ONCE = 32
_MOST_CALLS = 8
"""Handlers that never wait, at a time: the others stand in a line."""
_MOST_PIECES = 4
"""The same for the next pieces of streams, which take milliseconds."""
MOST_CHECKS = 8
"""The password that is worked out, which takes a core for a good part of a second, and those that wait for it."""

# RFC 3986, 3.2: a name, or an address of IPv6 in brackets, and a port, which may be empty.
_HOST = re.compile(r"(?P<name>\[[^\[\]]*\]|[^:\[\]]*)(?::[0-9]*)?")


@dataclass
class Site:
    """Paths and who may ask for them. `names` are the host names that requests may be for; empty: any.

    `streams` is how many more there may be: they must leave places to scrapes.
    """

    routes: Routes
    guard: Guard
    names: frozenset[str] = frozenset()
    streams: int = MOST_STREAMS
    calls: Calls = field(default_factory=lambda: Calls(_MOST_CALLS, MOST_CONNECTIONS))
    waiting: Calls = field(default_factory=lambda: Calls(_WAITING_AT_ONCE, MOST_WAITING))
    pieces: Calls = field(default_factory=lambda: Calls(_MOST_PIECES, MOST_STREAMS))
    _checks: Calls = field(default_factory=lambda: Calls(1, MOST_CHECKS))

    async def allows(self, authorization: str | None) -> bool:
        """Is this an Authorization header of one of the users? Raises TooManyError if too many are being worked out."""
        known = self.guard.knows(authorization)
        return await self._checks.run(partial(self.guard.allows, authorization)) if known is None else known

    def knows(self, host: str) -> bool:
        """A page in somebody's browser may let its own name lead to our loopback (DNS rebinding)."""
        found = _HOST.fullmatch(host)
        if not self.names:
            return True
        return found is not None and (
            found["name"].lower().removesuffix(".") in self.names or _is_address(found["name"].strip("[]"))
        )


def own_names() -> frozenset[str]:
    """Names by which a loopback listener may be asked."""
    node = os.uname().nodename.lower()
    return frozenset({"localhost", node, node.partition(".")[0]})


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
