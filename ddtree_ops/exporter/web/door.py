"""What has to be right before anything is read: the address to listen on, and the web config."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ddtree_ops.exporter.web import address as addresses
from ddtree_ops.exporter.web.address import Address
from ddtree_ops.exporter.web.guard import Guard


@dataclass(frozen=True)
class Door:
    """`sockets` listen already: who comes early waits for the first answer, and isn't refused."""

    where: Address
    guard: Guard
    sockets: Sequence[socket.socket]


@contextmanager
def opened(listen: str, web_config: Path | None) -> Iterator[Door]:
    """Closed at the end. Raises UsageError for an address or a web config that can't be, DdtreeOpsError when the address
    can't be listened on.
    """
    where = addresses.parse(listen)
    guard = Guard(web_config)
    sockets = addresses.listen(where)
    try:
        yield Door(where, guard, sockets)
    finally:
        for one in sockets:
            one.close()
