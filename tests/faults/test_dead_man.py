"""Nobody comes back: the host itself returns to the last good release, and what it left never harms a later deploy."""

from __future__ import annotations

import json

import pytest

from tests.faults.arena import Arena
from tests.faults.found import until
from tests.faults.matrix import Step
from tests.faults.one_case import Record
from tests.faults.reach import reach
from tests.faults.verdicts import Row, check_again, check_served

# The dead-man's time is made of these and of what smoke test and gate may take on top.
BUDGET = {"load_budget": "40s", "stall_after": "30s", "drain": "2s"}
FIRED_WITHIN = 400.0
RECORD = "/var/lib/ddtree/deadman.json"
KEPT = "/var/tmp/deadman.kept"
TIMER = "ddtree-deadman.timer"
AUDIT = "/var/lib/ddtree/audit.jsonl"


def lose_controller(arena: Arena) -> tuple[str, str]:
    """A deploy whose controller is gone for good in the middle of the load: the former and the new release."""
    old = str(arena.look().serves)
    arena.spec(**BUDGET)
    new = arena.release()
    with arena.deploying() as running:
        reach(running, arena, Step.WAITING, new)
        running.process.kill()
        running.end()
    return old, new


def brought_back(arena: Arena, old: str, new: str, row: Row) -> None:
    found = until(arena.lab, arena.host, lambda found: found.serves == old and not found.armed, FIRED_WITHIN)
    check_served(found, old, new, row)
    assert (found.serves, found.armed, found.links.get("current")) == (old, (), old), found
    lines = [json.loads(line) for line in arena.lab.sh(arena.host, "cat", AUDIT).splitlines()]
    assert any(line.get("event") == "dead-man" and line.get("release") == new for line in lines), lines[-5:]
    check_again(arena, new, row)


def test_nobody_comes_back(ct200: Arena, record_property: Record) -> None:
    row = Row("", "controller lost for good")
    try:
        old, new = lose_controller(ct200)
        timers = ct200.lab.sh(ct200.host, "systemctl", "list-timers", "--no-legend", "ddtree-*")
        assert TIMER in timers
        brought_back(ct200, old, new, row)
    finally:
        row.keep(record_property)


@pytest.mark.whole
def test_nobody_comes_back_and_the_host_reboots(ct200: Arena, record_property: Record) -> None:
    row = Row("", "controller lost, then a reboot")
    try:
        old, new = lose_controller(ct200)
        ct200.lab.reboot(ct200.host)
        brought_back(ct200, old, new, row)
    finally:
        row.keep(record_property)


def test_stale_dead_man(ct200: Arena, record_property: Record) -> None:
    """Its commit was cut off after what counts, or somebody put an old /var back: it is armed, and must do nothing."""
    row = Row("", "stale dead-man")
    lab, host = ct200.lab, ct200.host
    try:
        ct200.spec()
        release = ct200.release()
        with ct200.deploying() as running:
            reach(running, ct200, Step.WAITING, release)
            lab.sh(host, "cp", RECORD, KEPT)
            ended = running.end()
        assert ended.code == 0, ended.everything
        before = ct200.look()
        lab.sh(host, "sh", "-c", f"cp {KEPT} {RECORD}; systemctl start {TIMER}")
        assert ct200.look().armed
        again = ct200.deploy()
        row.ended(again)
        assert again.code == 0, again.everything
        cleared = ct200.look()
        assert cleared.unit == before.unit
        assert not cleared.armed, cleared.armed
        due = json.loads(lab.sh(host, "cat", KEPT)) | {"deadline": 0.0}
        lab.sh(host, "tee", RECORD, stdin=json.dumps(due))
        lab.sh(host, "systemctl", "start", "ddtree-deadman.service")
        after = ct200.look()
        assert (after.unit, after.armed) == (before.unit, ()), after
        row.served = "new"
        check_again(ct200, release, row)
    finally:
        row.keep(record_property)
