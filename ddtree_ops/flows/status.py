"""What serves on a host: its state, its health and its former loads."""

from __future__ import annotations

from dataclasses import dataclass

from ddtree_ops.fleet import places, verify
from ddtree_ops.fleet.drift import Change, drift
from ddtree_ops.fleet.state import Gpus, HostState
from ddtree_ops.flows.look import look, look_at_gpus
from ddtree_ops.flows.server import Server
from ddtree_ops.ports import Command, HttpRequest
from ddtree_ops.units.eta import Boot, read_history

HEALTH_TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True)
class HostStatus:
    """`health` is the status of /health: 0 refused, 503 loading, 200 up, None no answer in time.

    `drift`: how the host differs from its own current release.
    """

    host: str
    state: HostState
    gpus: Gpus
    health: int | None
    boots: tuple[Boot, ...]
    drift: tuple[Change, ...]


def read_status(server: Server, *, thorough: bool = False) -> HostStatus:
    """One look; `thorough`: every file of the current release is hashed. Raises Unreachable."""
    port = server.port
    state = look(server.shell, port)
    found = drift(state)
    if thorough and state.current is not None:
        known = {change.what for change in found}
        hashed = verify.parse(server.shell.run(verify.command(state.current)))
        found += tuple(change for change in hashed if not any(_same_file(change.what, name) for name in known))
    boots = server.shell.run(Command(("cat", f"{places.BOOTS}/{port}.jsonl"), ok=frozenset({0, 1})))
    return HostStatus(
        host=server.shell.host,
        state=state,
        gpus=look_at_gpus(server.shell),
        health=_health(server),
        boots=read_history(boots.stdout.splitlines()),
        drift=found,
    )


def _same_file(hashed: str, known: str) -> bool:
    """The thorough check names files of packages from site-packages on, the other one from the release on."""
    return known == hashed or known.endswith("/" + hashed.removeprefix("file "))


def _health(server: Server) -> int | None:
    try:
        return server.http.request(HttpRequest(server.port, "/health", timeout=HEALTH_TIMEOUT_SECONDS)).status
    except TimeoutError:
        return None
