"""What is served to whom: the part of the listener that every connection shares."""

from __future__ import annotations

import ipaddress
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.routes import Routes

MOST_STREAMS = 16


@dataclass
class Site:
    """Paths and who may ask for them. `names` are the host names that requests may be for; empty: any."""

    routes: Routes
    guard: Guard
    names: frozenset[str] = frozenset()
    _streams: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MOST_STREAMS))

    def knows(self, host: str | None) -> bool:
        """A page in somebody's browser may let its own name lead to our loopback (DNS rebinding)."""
        if not self.names or host is None:
            return True
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        return name.lower() in self.names or _is_address(name.strip("[]"))

    @contextmanager
    def stream_place(self) -> Iterator[bool]:
        """False if there are too many streams already: they must leave places to scrapes."""
        got = self._streams.acquire(blocking=False)
        try:
            yield got
        finally:
            if got:
                self._streams.release()


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
