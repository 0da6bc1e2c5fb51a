"""What serves on a host: its state, its health and its former loads."""

from __future__ import annotations

from dataclasses import dataclass

from ddtree_ops.fleet import places
from ddtree_ops.fleet.state import Gpus, HostState
from ddtree_ops.flows.look import look, look_at_gpus
from ddtree_ops.flows.wait import Server
from ddtree_ops.ports import Command, HttpRequest
from ddtree_ops.units.eta import Boot, read_history

HEALTH_TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True)
class HostStatus:
    """`health` is the status of /health: 0 refused, 503 loading, 200 up, None no answer in time."""

    host: str
    state: HostState
    gpus: Gpus
    health: int | None
    boots: tuple[Boot, ...]


def read_status(server: Server) -> HostStatus:
    """One look. Raises Unreachable."""
    port = server.port
    boots = server.shell.run(Command(("cat", f"{places.BOOTS}/{port}.jsonl"), ok=frozenset({0, 1})))
    return HostStatus(
        host=server.shell.host,
        state=look(server.shell, port),
        gpus=look_at_gpus(server.shell),
        health=_health(server),
        boots=read_history(boots.stdout.splitlines()),
    )


def _health(server: Server) -> int | None:
    try:
        return server.http.request(HttpRequest(server.port, "/health", timeout=HEALTH_TIMEOUT_SECONDS)).status
    except TimeoutError:
        return None
