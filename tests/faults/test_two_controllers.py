"""Two people deploy to one host: one of them works, the other is told who and since when."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.faults.arena import Arena
from tests.faults.found import PORT
from tests.faults.matrix import Step
from tests.faults.one_case import Record
from tests.faults.reach import reach
from tests.faults.verdicts import Row, check_again, check_message

LOCKED = 9
#: Long enough for a second command to take the lock meanwhile.
LONG_LOAD = "8"


@pytest.mark.whole
def test_lock_held(ct200: Arena, record_property: Record) -> None:
    row = Row("", "lock held")
    try:
        ct200.spec()
        release = ct200.release()
        with ct200.deploying() as first:
            reach(first, ct200, Step.WAITING, release)
            with ct200.lab.standing_still(ct200.host, f"ddtree-server@{PORT}.service"):
                second = ct200.deploy()
            row.ended(second)
            done = first.end()
        check_message(second, frozenset({LOCKED}), r"locked by \S+@\S+ \(pid \d+\) since \d{4}-\d\d-\d\dT.*deploy")
        assert "--break-lock" in second.everything
        assert done.code == 0, done.everything
        check_again(ct200, release, row)
    finally:
        row.keep(record_property)


@pytest.mark.whole
def test_lock_broken(ct200: Arena, record_property: Record) -> None:
    """The second takes the first one's lock: the first stops and undoes nothing, the second brings it to its end."""
    row = Row("", "lock broken by --break-lock")
    try:
        ct200.slow_spec(LONG_LOAD)
        release = ct200.release()
        with ct200.deploying() as first:
            reach(first, ct200, Step.WAITING, release)
            second = ct200.deploy("--break-lock")
            beaten = first.end()
        row.ended(beaten)
        assert second.code == 0, second.everything
        check_message(beaten, frozenset({LOCKED}), "taken|locked by|lost")
        check_again(ct200, release, row)
    finally:
        row.keep(record_property)


def test_two_at_once(ct200: Arena, record_property: Record) -> None:
    row = Row("", "two controllers at once")
    try:
        ct200.spec()
        release = ct200.release()
        with ExitStack() as stack:
            both = [stack.enter_context(ct200.deploying()) for _ in range(2)]
            ended = [one.end() for one in both]
        loser = max(ended, key=lambda one: one.code)
        row.ended(loser)
        assert sorted(one.code for one in ended) == [0, LOCKED], [one.everything for one in ended]
        check_message(loser, frozenset({LOCKED}), "locked by")
        check_again(ct200, release, row)
    finally:
        row.keep(record_property)
