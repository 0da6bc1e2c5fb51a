"""Controller mode put together: collectors over SSH, one page for all hosts, and `/probe`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from ddtree_ops.errors import AuthRejected, HostKeyRejected, HostTimedOut, Unreachable
from ddtree_ops.exporter import passes
from ddtree_ops.exporter.app import own_routes
from ddtree_ops.exporter.collector import Collector
from ddtree_ops.exporter.collectors.journal import JournalCollector
from ddtree_ops.exporter.collectors.kernel import KernelCollector
from ddtree_ops.exporter.collectors.unit import UnitCollector
from ddtree_ops.exporter.observers import Observers
from ddtree_ops.exporter.page.board import Board
from ddtree_ops.exporter.page.reports import stored
from ddtree_ops.exporter.page.routes import StatusPage
from ddtree_ops.exporter.probe import routes as probe_routes
from ddtree_ops.exporter.sampler import SECONDS_KEPT, UNENDED, UNREAD, Sampler
from ddtree_ops.exporter.sight.readings import Observed
from ddtree_ops.exporter.sight.state import UNANSWERED
from ddtree_ops.exporter.snapshot import Snapshot
from ddtree_ops.exporter.state_directory import prepare
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.web.routes import Route
from ddtree_ops.exporter.wiring import collectors

HOSTS = "hosts"  # in the controller's directory
#: These tell what they know of a host also while it can't be reached.
_REMEMBERED = (JournalCollector.name, KernelCollector.name)
_NO_ANSWER = tuple(kind.__name__ for kind in (Unreachable, HostTimedOut, HostKeyRejected, AuthRejected, TimeoutError))


def remote_collectors(target: Target, state: Path | None) -> Sequence[Collector]:
    """Those that need nothing but a shell and HTTP. `state` is the controller's directory; each host has its own in it.

    Raises UsageError where that can't be made.
    """
    own = _state_of(target.host, state)
    if own is not None:
        prepare(own)
    return collectors(target, own, passes.here, nvml=False)


def _state_of(host: str, state: Path | None) -> Path | None:
    """The host's own directory in the controller's."""
    return state / HOSTS / quote(host, safe="") if state is not None else None


def routes(observers: Observers, sampler: Sampler, state: Path | None) -> tuple[Route, ...]:
    """All paths of the controller's exporter but those of service discovery. `sampler` reads what it says of itself."""
    board = Board(lambda: tuple(observed(observers)), time.time)
    board.start()
    page = StatusPage(board, stored(lambda host: _state_of(host, state))).routes()
    return (*own_routes(sampler), *probe_routes(observers), *page)


def observed(observers: Observers) -> Iterator[Observed]:
    """Every host as the page wants it."""
    for host, snapshot in observers.snapshots().items():
        unread = all(state.error == UNREAD for state in snapshot.states.values())
        who = observers.identity(host)
        yield Observed(host, None if unread else snapshot, who.hardware, who.model, _problem(snapshot))


def _problem(snapshot: Snapshot) -> str | None:
    """Why the host is lost: its units, read most often, show that first; others are still well of their last reading then."""
    lost = _units_lost(snapshot)
    if lost is not None:
        return lost
    states = [state for name, state in snapshot.states.items() if name not in _REMEMBERED]
    errors = [state.error for state in states if state.error and state.error not in (UNREAD, UNENDED)]
    if not errors or any(state.success for state in states):
        return None
    return _words(errors[0])


def _units_lost(snapshot: Snapshot) -> str | None:
    unit = snapshot.states.get(UnitCollector.name)
    if unit is None or unit.success or unit.error is None or unit.error == UNREAD:
        return None
    if unit.error.partition(":")[0] in _NO_ANSWER:
        return _words(unit.error)
    if unit.last_success is None or snapshot.samples.get(UnitCollector.name):
        return None  # never read, or what was read is still good for a moment
    if unit.error != UNENDED:
        return _words(unit.error)
    return UNANSWERED if snapshot.taken - unit.last_success > SECONDS_KEPT else None


def _words(error: str) -> str:
    """Without the name of the exception."""
    return error.partition(": ")[2] or error
