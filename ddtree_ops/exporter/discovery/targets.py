"""Targets for Prometheus that follow the inventory, and never an empty list for a broken edit.

Prometheus drops every target that an answer no longer names (prometheus.io/docs, "HTTP SD"), so a typing mistake in one file
must not end all alerts. What is told while the inventory can't be read is its last good state; of one host that became
unreadable, that host's last good targets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter import log
from ddtree_ops.exporter.discovery.groups import as_json, by_job
from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.fleet.inventory_state import State, inventory_state
from ddtree_ops.fleet.scrape_targets import HostTargets, scrape_targets

PAUSE = 20  # times as long as a reading with mistakes took, until the next one: 5 % of a core at most
_MOST_TOLD = 5  # lines of the log each time the inventory changes; `Found.hosts` has all


@dataclass(frozen=True, slots=True)
class Found:
    """What is told now.

    `bodies` are the answers by job, "" for all jobs together. `problem` says why the inventory can't be read as it is, empty
    where it could; then all else is of `read_at` (Unix time; 0: it never could). `kept` are hosts whose last good targets are
    told.
    """

    hosts: tuple[HostTargets, ...] = ()
    kept: frozenset[str] = frozenset()
    bodies: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    problem: str = ""
    read_at: float = 0.0


class Discovery:
    """The inventory at `inventory` as Prometheus' targets. May be asked from several threads."""

    def __init__(self, inventory: Path, now: Callable[[], float] = time.time) -> None:
        self._inventory = inventory
        self._now = now
        self._lock = threading.Lock()
        self._state: State | None = None
        self._found = Found()
        self._again_at = 0.0  # monotonic
        self._told: object = None

    @property
    def last(self) -> Found:
        """What found() told last: no request waits for a large inventory to be read."""
        return self._found if self._found.read_at or self._found.problem else self.found()

    def found(self) -> Found:
        """What is told now: read again if any file of the inventory has changed, appeared or gone since the last time."""
        with self._lock:
            state = inventory_state(self._inventory)  # before the reading: what changes meanwhile shows the next time
            if state != self._state or self._due():
                began = time.thread_time()
                self._state = state
                self._found = self._read(self._found)
                self._again_at = time.monotonic() + PAUSE * (time.thread_time() - began)
            return self._found

    def reread(self) -> None:
        """Read the inventory at the next question, whether it seems changed or not."""
        self._state = None

    def _due(self) -> bool:
        """What couldn't be read may be readable by now, with no file changed (too many open files, EIO, a folder above)."""
        mistaken = self._found.problem or any(one.problems for one in self._found.hosts)
        return bool(mistaken) and time.monotonic() >= self._again_at

    def _read(self, before: Found) -> Found:
        try:
            hosts = scrape_targets(load_fleet(self._inventory))
            hosts, kept = _with_last_good(hosts, before)
            bodies = {job: as_json(targets) for job, targets in by_job(hosts).items()}
        except Exception as error:  # noqa: BLE001 - a mistake of ours must show as well, and not leave the old state as if it were new
            problem = self._words(error)
            told = f"the targets of {len(before.hosts)} hosts as last read are told" if before.read_at else "no targets are told"
            self._tell(problem, lambda: log.line(f"{problem}; {told}"))
            return replace(before, problem=problem)
        broken = [one for one in hosts if one.problems]
        self._tell([(one.host, one.problems) for one in broken], lambda: _tell(broken, kept))
        return Found(hosts, kept, MappingProxyType(bodies), "", self._now())

    def _tell(self, what: object, tell: Callable[[], None]) -> None:
        """Once, and not at each reading that finds the same."""
        if what != self._told:
            tell()
        self._told = what

    def _words(self, error: Exception) -> str:
        if isinstance(error, DdtreeOpsError):
            return error.message
        if isinstance(error, OSError):
            return f"{self._inventory}: {error.strerror or type(error).__name__}"
        return f"{self._inventory}: can't be read: {type(error).__name__} in ddtree-ops"


def _with_last_good(hosts: Sequence[HostTargets], before: Found) -> tuple[tuple[HostTargets, ...], frozenset[str]]:
    """A host that has come to have problems keeps what it had, labels as well: nothing of the broken edit is deployed."""
    good = {one.host: one for one in before.hosts if one.host in before.kept or not one.problems}
    kept = frozenset(one.host for one in hosts if one.problems and one.host in good)
    return tuple(replace(one, targets=good[one.host].targets) if one.host in kept else one for one in hosts), kept


def _tell(broken: Sequence[HostTargets], kept: frozenset[str]) -> None:
    for one in broken[:_MOST_TOLD]:
        told = "its last good targets are told" if one.host in kept else f"{len(one.targets)} targets are told"
        log.line(f"host {one.host}: {one.problems[0]}; {told}")
    if len(broken) > _MOST_TOLD:
        log.line(f"{len(broken) - _MOST_TOLD} more hosts have mistakes")
