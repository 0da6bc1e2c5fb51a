"""Collector `deploys`: attempts to change the host, and what their smoke tests and gates found, from the host's audit log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.audit.counts import RESULTS, AuditCounts
from ddtree_ops.exporter.audit.position import Position
from ddtree_ops.exporter.audit.tail import AuditTail, Moved
from ddtree_ops.exporter.catalogue import releases
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import Target

NAME = "deploys.json"
# From 0 on, so that the first one is an increase.
_STARTED = ("deploy", "rollback")


class DeploysCollector:
    """Counts and the position that they belong to are kept together in one file: nothing is counted twice or forgotten."""

    name = "deploys"
    period = 15.0

    def __init__(self, target: Target, state: Path | None, wall: Callable[[], float] = time.time) -> None:
        self._target = target
        self._path = state / NAME if state is not None else None
        self._wall = wall
        self._known: tuple[AuditCounts, Position] | None = None

    def read(self) -> Sequence[Sample]:
        """Raises Unreachable, HostCommandFailed (a log that isn't readable), OSError (a state directory that isn't ours)."""
        if self._known is None:
            self._known = self._kept()
        try:
            found = self._read_on(*self._known)
        except Moved:  # just now; a second time in a row is no accident
            found = self._read_on(*self._known)
        if found != self._known:
            self._keep(*found)
            self._known = found
        return tuple(_samples(found[0]))

    def _read_on(self, known: AuditCounts, position: Position) -> tuple[AuditCounts, Position]:
        """On a copy: what a reading that failed took in counts for nothing."""
        now = self._wall()
        counts, tail = AuditCounts.from_data(known.to_data()), AuditTail(self._target.shell, position, now)
        for record in tail.records():
            counts.take(record, now)
        counts.settle(now)
        return counts, tail.position

    def _keep(self, counts: AuditCounts, position: Position) -> None:
        if self._path is not None:
            state_file.write(self._path, {"position": position.to_data(), "counts": counts.to_data()})

    def _kept(self) -> tuple[AuditCounts, Position]:
        """A file that is damaged is as none: the log is counted anew."""
        try:
            data = state_file.read(self._path) if self._path is not None else None
            if data is not None:
                return AuditCounts.from_data(data["counts"]), Position.from_data(data["position"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            print(f"{NAME} is damaged, so the audit log is counted anew: {type(error).__name__}", file=sys.stderr)  # noqa: T201
        return AuditCounts(), Position()


def _samples(counts: AuditCounts) -> Iterator[Sample]:
    started = {f"{event}/{result}": 0 for event in _STARTED for result in RESULTS}
    for key, number in sorted({**started, **counts.attempts}.items()):
        yield Sample(releases.DEPLOYS, number, tuple(key.split("/")))
    for key, at in sorted(counts.last.items()):
        yield Sample(releases.DEPLOY_LAST, at, tuple(key.split("/")))
    for event, seconds in sorted(counts.seconds.items()):
        yield Sample(releases.DEPLOY_SECONDS, seconds, (event,))
    if counts.smoke_ok is not None:
        yield Sample(releases.SMOKE, int(counts.smoke_ok))
    for number, seconds_or_none in enumerate(counts.smoke_seconds, 1):
        if seconds_or_none is not None:
            yield Sample(releases.SMOKE_SECONDS, seconds_or_none, (str(number),))
    if counts.gate_ok is not None:
        yield Sample(releases.GATE, int(counts.gate_ok))
    if counts.gate_length is not None:
        yield Sample(releases.GATE_LENGTH, counts.gate_length)
