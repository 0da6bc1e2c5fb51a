"""What is served to whom: the part of the server that every connection shares."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from functools import partial

from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.routes import Routes
from ddtree_ops.exporter.web.threads import Turns

MOST_STREAMS = 16
MOST_CALLS = 32
"""Handlers that run at a time, each in a thread: one may wait a minute for a host."""
_MOST_PIECES = 4
"""The same for the next pieces of streams, which take milliseconds."""
MOST_CHECKS = 8
"""The password that is worked out, which takes a core for a good part of a second, and those that wait for it."""


@dataclass
class Site:
    """Paths and who may ask for them. `names` are the host names that requests may be for; empty: any.

    `streams` is how many more there may be: they must leave places to scrapes.
    """

    routes: Routes
    guard: Guard
    names: frozenset[str] = frozenset()
    streams: int = MOST_STREAMS
    work: Turns = field(default_factory=lambda: Turns(MOST_CALLS, 2 * MOST_CALLS))
    pieces: Turns = field(default_factory=lambda: Turns(_MOST_PIECES, MOST_STREAMS))
    _checks: Turns = field(default_factory=lambda: Turns(1, MOST_CHECKS))

    async def allows(self, authorization: str | None) -> bool:
        """Is this an Authorization header of one of the users? Raises TooManyError if too many are being worked out."""
        known = self.guard.knows(authorization)
        return await self._checks.run(partial(self.guard.allows, authorization)) if known is None else known

    def knows(self, host: str) -> bool:
        """A page in somebody's browser may let its own name lead to our loopback (DNS rebinding)."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        return not self.names or name.lower() in self.names or _is_address(name.strip("[]"))


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
