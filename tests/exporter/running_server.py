"""The exporter's server on a real socket, in an event loop of its own beside the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ddtree_ops.exporter.web import address
from ddtree_ops.exporter.web.address import Address
from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.routes import Routes
from ddtree_ops.exporter.web.server import Server
from ddtree_ops.exporter.web.site import Site


@contextmanager
def running(where: Address, routes: Routes, guard: Guard, names: frozenset[str] = frozenset()) -> Iterator[int]:
    """Its port, until the end of the block."""
    sockets = address.listen(where)
    begun, loop = threading.Event(), asyncio.new_event_loop()
    ended = asyncio.Event()

    async def serve() -> None:
        server = Server(Site(routes, guard, names), sockets)
        begun.set()
        await ended.wait()
        await server.close()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert begun.wait(5)
    try:
        yield address.own(sockets)[1]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(5)
        assert not thread.is_alive()
