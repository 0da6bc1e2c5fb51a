"""The exporter's HTTP: which paths there are, and from when to when they are served."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta

from tornado.ioloop import PeriodicCallback

from ddtree_ops.exporter import log, memory, signals
from ddtree_ops.exporter.exposition import CONTENT_TYPE, Exposition
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.web import address as addresses
from ddtree_ops.exporter.web.door import Door
from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.messages import Response, text
from ddtree_ops.exporter.web.routes import Route, Routes
from ddtree_ops.exporter.web.server import Server
from ddtree_ops.exporter.web.site import Site, own_names
from ddtree_ops.exporter.web.threads import in_thread

_TRIM_EVERY = timedelta(seconds=5)  # a fifth of a millisecond each time


def own_routes(sampler: Sampler) -> tuple[Route, ...]:
    """What every exporter has: /metrics and /healthz."""
    exposition = Exposition(sampler.snapshot)
    return (
        Route("/metrics", lambda _request: Response(content_type=CONTENT_TYPE, body=exposition.text())),
        Route("/healthz", lambda _request: text("ok") if sampler.alive else text("the sampler has ended", 503)),
    )


def serve(
    door: Door,
    routes: Iterable[Route],
    *,
    ready: Callable[[tuple[str, int]], None] = lambda _where: None,
    reread: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT; call it in the main thread. `ready` gets the address.

    SIGHUP has the web config read again, and calls `reread` for what else can be; only a terminal that is closed ends with it.
    """
    names = own_names() if door.where.loopback and not door.guard.authenticates else frozenset()

    async def serving() -> None:
        wait = signals.until_the_end(lambda: in_thread(lambda: _reread(door.guard, reread)))
        server = Server(Site(Routes(*routes), door.guard, names), door.sockets)
        PeriodicCallback(memory.trim, _TRIM_EVERY).start()
        ready(addresses.own(door.sockets))
        await wait()
        await server.close()

    try:
        with asyncio.Runner() as runner:  # its event loop first, which may find no descriptor
            runner.run(serving())
    finally:
        signals.hold()  # the event loop leaves what the system does, which would make a failure of a second SIGTERM


def _reread(guard: Guard, more: Callable[[], None]) -> None:
    guard.refresh(now=True)
    try:
        more()
    except Exception as error:  # noqa: BLE001 - what was read before stays, whatever is wrong with the new
        log.line(f"SIGHUP: {type(error).__name__}: {error}")


def tell_systemd(state: str) -> None:
    """sd_notify(3): `READY=1` or `STOPPING=1`; nothing without $NOTIFY_SOCKET."""
    path = os.environ.get("NOTIFY_SOCKET")
    if not path:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.sendto(state.encode(), "\0" + path[1:] if path.startswith("@") else path)
