"""Targets for Prometheus that follow the inventory, and never an empty list for a broken edit.

Prometheus drops every target that an answer no longer names (prometheus.io/docs, "HTTP SD"), so a typing mistake in one file
must not end all alerts. What is told while the inventory can't be read is its last good state; of one host that became
unreadable, that host's last good targets.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.discovery.groups import as_json, by_job
from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.fleet.inventory_state import State, inventory_state
from ddtree_ops.fleet.scrape_targets import HostTargets, scrape_targets

_LOG = logging.getLogger(__name__)
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
        self._reading: threading.Thread | None = None
        self._found = Found()

    def found(self, wait: float | None = None) -> Found:
        """What is told now: read again if any file of the inventory has changed, appeared or gone since the last time.

        `wait` is how many seconds that may take; after that the former answer is given once more, and the reading goes on, so
        that no request waits for a large inventory. Without it, and the first time, the answer is as the inventory is.
        """
        for _ in range(2):  # what is being read may be of before the last edit
            reading = self._begin()
            if reading is None:
                break
            reading.join(wait if self._found.read_at else None)
            if wait is not None:
                break
        return self._found

    def _begin(self) -> threading.Thread | None:
        """The thread that reads the inventory; None if there is nothing new."""
        with self._lock:
            state = inventory_state(self._inventory)  # before the reading: what changes meanwhile shows the next time
            if self._reading is None and state != self._state:
                self._reading = threading.Thread(target=self._run, args=(state,), name="discovery", daemon=True)
                self._reading.start()
            return self._reading

    def _run(self, state: State) -> None:
        try:
            found = self._read(self._found)
            with self._lock:
                self._found, self._state = found, state
        finally:
            self._reading = None

    def _read(self, before: Found) -> Found:
        try:
            hosts = scrape_targets(load_fleet(self._inventory))
        except (DdtreeOpsError, OSError) as error:
            problem = error.message if isinstance(error, DdtreeOpsError) else f"{self._inventory}: {error.strerror}"
            told = f"the targets of {len(before.hosts)} hosts as last read are told" if before.read_at else "no targets are told"
            _LOG.error("%s; %s", problem, told)
            return replace(before, problem=problem)
        hosts, kept = _with_last_good(hosts, before)
        _tell([one for one in hosts if one.problems], kept)
        bodies = {job: as_json(targets) for job, targets in by_job(hosts).items()}
        return Found(hosts, kept, MappingProxyType(bodies), "", self._now())


def _with_last_good(hosts: Sequence[HostTargets], before: Found) -> tuple[tuple[HostTargets, ...], frozenset[str]]:
    """A host that has come to have problems keeps what it had, labels as well: nothing of the broken edit is deployed."""
    good = {one.host: one for one in before.hosts if one.host in before.kept or not one.problems}
    kept = frozenset(one.host for one in hosts if one.problems and one.host in good)
    return tuple(replace(one, targets=good[one.host].targets) if one.host in kept else one for one in hosts), kept


def _tell(broken: Sequence[HostTargets], kept: frozenset[str]) -> None:
    for one in broken[:_MOST_TOLD]:
        told = "its last good targets are told" if one.host in kept else f"{len(one.targets)} targets are told"
        _LOG.warning("host %s: %s; %s", one.host, one.problems[0], told)
    if len(broken) > _MOST_TOLD:
        _LOG.warning("%d more hosts have mistakes", len(broken) - _MOST_TOLD)
