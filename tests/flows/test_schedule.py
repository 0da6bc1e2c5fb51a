"""Which host may begin when."""

from __future__ import annotations

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.flows.schedule import Batches, Policy, Schedule, parse_batches

HOSTS = ("a", "b", "c", "d", "e")


def seen(policy: Policy, unchanged: tuple[str, ...] = ()) -> Schedule:
    """All hosts looked at; those not `unchanged` have a plan that is approved."""
    schedule = Schedule(HOSTS, policy)
    while not schedule.all_seen:
        for host in tuple(schedule.looks()):
            if host in unchanged:
                schedule.ended(host, well=True)
            else:
                schedule.planned(host)
    schedule.approve()
    return schedule


def begins(schedule: Schedule) -> str:
    return "".join(schedule.begins())


def test_no_more_looks_at_once_than_forks() -> None:
    schedule = Schedule(HOSTS, Policy(forks=2))
    assert "".join(schedule.looks()) == "ab"
    schedule.ended("a", well=True)
    schedule.planned("b")
    assert "".join(schedule.looks()) == "cd"
    assert not schedule.all_seen


def test_the_first_host_that_has_to_change_goes_alone() -> None:
    schedule = seen(Policy(), unchanged=("a",))
    assert begins(schedule) == "b"
    assert begins(schedule) == ""
    schedule.ended("b", well=True)
    assert begins(schedule) == "cde"
    assert not schedule.over
    for host in "cde":
        schedule.ended(host, well=True)
    assert schedule.over


def test_a_named_canary_goes_first_and_one_with_nothing_to_do_is_well() -> None:
    assert begins(seen(Policy(canary="d"))) == "d"
    assert begins(seen(Policy(canary="d"), unchanged=("d",))) == "abce"


def test_a_canary_that_ends_badly_stops_whatever_max_failures_says() -> None:
    schedule = seen(Policy(max_failures=9))
    assert begins(schedule) == "a"
    schedule.ended("a", well=False)
    assert begins(schedule) == ""
    assert schedule.stopped == "the canary a did not end well"
    assert schedule.waiting == ("b", "c", "d", "e")


def test_a_named_canary_that_cannot_be_reached_stops_too() -> None:
    schedule = Schedule(HOSTS, Policy(canary="b"))
    tuple(schedule.looks())
    schedule.ended("b", well=False)
    assert schedule.stopped == "the canary b did not end well"


def test_a_host_that_fails_before_its_turn_stops_nobody() -> None:
    schedule = Schedule(HOSTS, Policy())
    tuple(schedule.looks())
    schedule.ended("a", well=False)
    for host in "bcde":
        schedule.planned(host)
    schedule.approve()
    assert begins(schedule) == "b"


def test_one_host_alone_is_no_canary() -> None:
    schedule = seen(Policy(), unchanged=("a", "b", "c", "d"))
    assert begins(schedule) == "e"
    schedule.ended("e", well=False)
    assert schedule.over


def test_batches_end_before_the_next_ones_begin() -> None:
    schedule = seen(Policy(canary_first=False, batches=Batches(2)))
    assert begins(schedule) == "ab"
    schedule.ended("a", well=True)
    assert begins(schedule) == ""
    schedule.ended("b", well=True)
    assert begins(schedule) == "cd"


def test_forks_bound_a_batch() -> None:
    schedule = seen(Policy(canary_first=False, forks=2))
    assert begins(schedule) == "ab"
    schedule.ended("b", well=True)
    assert begins(schedule) == "c"


def test_no_host_begins_after_too_many_failures_and_those_at_work_end() -> None:
    schedule = seen(Policy(canary_first=False, forks=3, max_failures=2))
    assert begins(schedule) == "abc"
    schedule.ended("a", well=False)
    assert begins(schedule) == "d"
    schedule.ended("b", well=False)
    assert begins(schedule) == ""
    assert schedule.stopped == "2 failed"
    schedule.ended("c", well=True)
    schedule.ended("d", well=True)
    assert schedule.waiting == ("e",)
    schedule.ended("e", well=False)  # its thread was told that it may not begin
    assert schedule.over


def test_a_stop_while_looking_looks_at_nobody_else() -> None:
    schedule = Schedule(HOSTS, Policy(forks=1))
    assert "".join(schedule.looks()) == "a"
    schedule.stop("interrupted")
    assert not schedule.over
    schedule.ended("a", well=False)
    assert "".join(schedule.looks()) == ""
    assert schedule.over


@pytest.mark.parametrize(("text", "hosts", "size"), [("3", 10, 3), ("25%", 10, 2), ("25%", 2, 1), ("100%", 7, 7), (" 1 ", 9, 1)])
def test_sizes_of_batches(text: str, hosts: int, size: int) -> None:
    assert parse_batches(text).size(hosts) == size


@pytest.mark.parametrize("text", ["0", "0%", "101%", "-1", "3.5", "", "%", "ten", "99999"])
def test_what_is_no_batch(text: str) -> None:
    with pytest.raises(UsageError):
        parse_batches(text)
