"""Collector `deploys`: attempts to change the host, and what their smoke tests and gates found, from the host's audit log."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.audit.counts import RESULTS, AuditCounts
from ddtree_ops.exporter.audit.log import AuditLog, BeganAnew, Position
from ddtree_ops.exporter.catalogue import releases
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import Target

NAME = "deploys.json"
# From 0 on, so that the first one is an increase.
_STARTED = ("deploy", "rollback")
# What was counted, up to where, and how the log looked then.
_Known = tuple[AuditCounts, Position, str]


class DeploysCollector:
    """Counts and the position that they belong to are kept together in one file: nothing is counted twice or forgotten.

    `problem`: why they couldn't be kept the last time, or what of the log can't be read.
    """

    name = "deploys"
    period = 15.0

    def __init__(self, target: Target, state: Path | None, wall: Callable[[], float] = time.time) -> None:
        self._target = target
        self._path = state / NAME if state is not None else None
        self._wall = wall
        self._known: _Known | None = None
        self._unkept: str | None = None
        self._unread: str | None = None

    @property
    def problem(self) -> str | None:
        return self._unkept or self._unread

    def read(self) -> Sequence[Sample]:
        """Raises Unreachable, HostCommandFailed (a log that isn't readable), OSError (a state that we may not read)."""
        if self._known is None:
            self._known = state_file.load(self._path, _from_data, _fresh) if self._path is not None else _fresh(None)
        try:
            found = self._read_on(*self._known)
        except BeganAnew:  # just now; a second time in a row is no accident
            found = self._read_on(*self._known)
        if self._path is not None and (self._unkept or found[:2] != self._known[:2]):
            self._unkept = state_file.kept(self._path, {"counts": asdict(found[0]), "position": asdict(found[1])})
        self._known = found
        return tuple(_samples(found[0]))

    def _read_on(self, known: AuditCounts, position: Position, looked: str) -> _Known:
        """On a copy: what a reading that failed took in counts for nothing."""
        now, counts, log = self._wall(), copy.deepcopy(known), AuditLog(self._target.shell, position)
        look = log.look()
        self._unread = log.problem
        if look != looked:
            for record in log.records(look, now):
                counts.take(record, now)
        counts.settle(now)
        return counts, log.position, look


def _from_data(data: dict[str, Any]) -> _Known:
    position = data["position"]
    return AuditCounts.from_data(data["counts"]), Position(tuple(map(str, position["marks"])), float(position["newest"])), ""


def _fresh(_: float | None) -> _Known:
    """Also for a file that is damaged: the log is counted anew."""
    return AuditCounts(), Position(), ""


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
