"""Faults that a deploy outlives: it ends green by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.faults.arena import Arena
from tests.faults.matrix import Step
from tests.faults.one_case import Record
from tests.faults.reach import reach
from tests.faults.verdicts import Row, check_again


def outlived(arena: Arena, record: Record, row: Row, strike: Callable[[], object], step: Step | None) -> None:
    """One deploy with the fault in the middle of `step` (None: all along); it has to end well, and so has a second one."""
    try:
        arena.spec()
        release = arena.release()
        with arena.deploying() as running:
            if step is not None:
                reach(running, arena, step, release)
                with running.held():
                    strike()
            ended = running.end()
        row.ended(ended)
        assert ended.code == 0, ended.everything
        check_again(arena, release, row)
    finally:
        row.keep(record)


def test_journald_restarted(ct200: Arena, record_property: Record) -> None:
    """In the middle of the load: its follower of the journal goes on, and so does the server."""
    lab, host = ct200.lab, ct200.host
    row = Row("", "journald restarted")
    outlived(ct200, record_property, row, lambda: lab.sh(host, "systemctl", "restart", "systemd-journald"), Step.WAITING)


@contextmanager
def slow_link(arena: Arena, round_trip_ms: float, loss_percent: float) -> Iterator[None]:
    arena.lab.delay(arena.host, round_trip_ms, loss_percent)
    try:
        yield
    finally:
        arena.lab.delay(arena.host, 0)


@pytest.mark.whole
def test_slow_and_lossy_link(ct200: Arena, record_property: Record) -> None:
    with slow_link(ct200, 40, 2):
        outlived(ct200, record_property, Row("", "40 ms round trip, 2 % loss"), lambda: None, None)
