"""The exporter's HTTP: which paths there are, and from when to when they are served."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from ddtree_ops.exporter.exposition import CONTENT_TYPE, Exposition
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.signals import until_the_end
from ddtree_ops.exporter.web import address as addresses
from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.listener import Listener
from ddtree_ops.exporter.web.messages import Response, text
from ddtree_ops.exporter.web.routes import Route, Routes
from ddtree_ops.exporter.web.site import Site, own_names


def own_routes(sampler: Sampler) -> tuple[Route, ...]:
    """What every exporter has: /metrics and /healthz."""
    exposition = Exposition(sampler.snapshot)
    return (
        Route("/metrics", lambda _request: Response(content_type=CONTENT_TYPE, body=exposition.text())),
        Route("/healthz", lambda _request: text("ok") if sampler.alive else text("the sampler has ended", 503)),
    )


def serve(
    listen: str,
    routes: Iterable[Route],
    *,
    web_config: Path | None = None,
    ready: Callable[[tuple[str, int]], None] = lambda _where: None,
    reread: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT; call it in the main thread. `ready` gets the address once it is listened on.

    SIGHUP has the web config read again, and calls `reread` for what else can be; only a terminal that is closed ends with it.
    Raises UsageError for an address or a web config that can't be, DdtreeOpsError when the address can't be listened on.
    """
    where = addresses.parse(listen)
    guard = Guard(web_config)
    names = own_names() if where.loopback and not guard.authenticates else frozenset()
    listener = Listener(addresses.listen(where), Site(Routes(*routes), guard, names))
    wait = until_the_end(lambda: _reread(guard, reread))
    threading.Thread(target=listener.serve, name="listener", daemon=True).start()
    ready(listener.address)
    wait()
    listener.close()


def _reread(guard: Guard, more: Callable[[], None]) -> None:
    guard.refresh(now=True)
    try:
        more()
    except Exception as error:  # noqa: BLE001 - what was read before stays, whatever is wrong with the new
        print(f"SIGHUP: {type(error).__name__}: {error}", file=sys.stderr, flush=True)  # noqa: T201


def tell_systemd(state: str) -> None:
    """sd_notify(3): `READY=1` or `STOPPING=1`; nothing without $NOTIFY_SOCKET."""
    path = os.environ.get("NOTIFY_SOCKET")
    if not path:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.sendto(state.encode(), "\0" + path[1:] if path.startswith("@") else path)
