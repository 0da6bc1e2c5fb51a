"""What triage found in the servers' journals: tells what the passes wrote, and sees to it that there are passes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.catalogue import failures
from ddtree_ops.exporter.journal import leftovers
from ddtree_ops.exporter.journal.follow import UNIT_SIGNS, unit_command
from ddtree_ops.exporter.journal.watch import Watch
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.passes import Passes
from ddtree_ops.exporter.target import Target
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Role
from ddtree_ops.units.systemctl import unit_name

_MICRO = 1e6


class JournalCollector:
    """Of all units of the host."""

    name = "journal"
    period = 0.5  # of looking at the files; the journal itself is read when there is a reason

    def __init__(self, target: Target, directory: Path, passes: Passes) -> None:
        self._target, self._directory = target, directory
        self._passes = passes
        self._watches: dict[int, Watch] = {}
        self._looked_at: float | None = None
        self._read: dict[int, tuple[tuple[int, int, int], Mapping[str, Any]]] = {}

    @property
    def problem(self) -> str | None:
        """Why the last pass over a journal failed: what was counted before is told, and isn't new."""
        return next((watch.problem for watch in self._watches.values() if watch.problem), None)

    def read(self) -> Sequence[Sample]:
        """Raises DdtreeOpsError where no pass has ended well for long, ValueError for a state that isn't ours, OSError."""
        ports = self._target.ports()
        for port in ports:
            self._watch(port)
        for port in [port for port in self._watches if port not in ports]:
            self._watches.pop(port).close()
            self._read.pop(port, None)
        self._forget(ports)
        states = {str(port): self._of(port) for port in ports}
        for watch in self._watches.values():
            watch.check()
        return tuple(samples(states))

    def close(self) -> None:
        """Follow no more."""
        for watch in self._watches.values():
            watch.close()

    def _forget(self, ports: Sequence[int]) -> None:
        now = self._target.monotonic()
        if self._looked_at is None or now - self._looked_at >= leftovers.PERIOD_SECONDS:
            self._looked_at = now
            leftovers.forget(self._directory, ports, time.time())

    def _watch(self, port: int) -> None:
        if port not in self._watches:
            unit = unit_name(port)
            watch = Watch(self._target.shell, unit_command(unit), UNIT_SIGNS, partial(self._passes, unit), f"journal of {unit}")
            self._watches[port] = watch
            watch.start()

    def _of(self, port: int) -> Mapping[str, Any]:
        """What the file says; it is read again when it was replaced."""
        path = state_file.of_unit(self._directory, unit_name(port))
        try:
            found = path.stat()
        except FileNotFoundError:
            return {}
        mark = (found.st_ino, found.st_mtime_ns, found.st_size)
        known = self._read.get(port)
        if known is None or known[0] != mark:
            known = self._read[port] = (mark, state_file.read(path) or {})
        return known[1]


def samples(states: Mapping[str, Mapping[str, Any]]) -> Iterator[Sample]:
    """The samples of states by port. Nothing before a journal was read to its end once: its past would look like news."""
    complete = {port: data for port, data in states.items() if data.get("complete") is True}
    for port, data in complete.items():
        totals = {(str(kind), str(role)): float(number) for kind, role, number in data["totals"]}
        roots = {(kind.value, Role.ROOT.value): 0.0 for kind in Kind}
        for (kind, role), number in {**roots, **totals}.items():
            yield Sample(failures.TOTAL, number, (port, kind, role))
        yield Sample(failures.LINES, float(data["lines"]), (port,))
        if data["newest_us"]:
            yield Sample(failures.BEHIND, data["newest_us"] / _MICRO, (port,))
    newest = sorted(
        ((item["last_us"], port, item) for port, data in complete.items() for item in data["newest"]), key=itemgetter(0)
    )
    for _, port, item in newest[-failures.LAST.most :]:
        yield from _of_fingerprint(port, item)


def _of_fingerprint(port: str, item: Mapping[str, Any]) -> Iterator[Sample]:
    name, kind, role = str(item["fingerprint"]), str(item["kind"]), str(item["role"])
    yield Sample(failures.LAST, item["last_us"] / _MICRO, (port, name, kind, role))
    yield Sample(failures.COUNT, float(item["count"]), (port, name))
    if role == Role.ROOT.value:
        yield Sample(failures.INFO, 1.0, (port, name, kind, str(item["cause"]), str(item["fix"])))
