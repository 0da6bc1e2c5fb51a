"""Several hosts at once: real threads, jobs that a test lets go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from ddtree_ops.errors import Unreachable
from ddtree_ops.fleet.drift import Change
from ddtree_ops.fleet.plan import Plan
from ddtree_ops.fleet.state import HostState
from ddtree_ops.flows import rollout as rollout_module
from ddtree_ops.flows.progress import HostEnded, News, StepStarted
from ddtree_ops.flows.rollout import Rollout, Turn
from ddtree_ops.flows.schedule import Policy
from ddtree_ops.report.deployment import DeploymentReport, Outcome
from tests.flows.test_deploy import NEW

SECONDS = 60.0
HOSTS = ("a", "b", "c")
ALL = Policy(canary_first=False)


def a_plan(host: str) -> Plan:
    """One change; nobody here looks at the state behind it."""
    return Plan(host, NEW, cast("HostState", None), (Change("release", "old", NEW.id),), ())


def report(host: str, outcome: Outcome = Outcome.DEPLOYED, code: int = 0) -> DeploymentReport:
    return DeploymentReport(host, outcome, code, "new", "old", "new", 1.0, ())


@dataclass
class Jobs:
    """Hosts' jobs: each plans, waits for its turn, and then does what `work` says; `begun` tells who was let go."""

    work: Callable[[Turn], DeploymentReport] = lambda turn: report(turn.host)
    unchanged: tuple[str, ...] = ()
    begun: list[str] = field(default_factory=list)

    def __call__(self, turn: Turn) -> DeploymentReport:
        if turn.host in self.unchanged:
            return report(turn.host, Outcome.NOTHING_TO_DO)
        if not turn.confirm(a_plan(turn.host)):
            return report(turn.host, Outcome.WOULD_CHANGE, 6)
        self.begun.append(turn.host)
        return self.work(turn)


def outcomes(reports: Sequence[DeploymentReport]) -> list[Outcome]:
    return [one.outcome for one in reports]


def test_all_plans_are_asked_about_at_once_before_anyone_begins() -> None:
    asked: list[list[str]] = []
    jobs = Jobs(unchanged=("b",))

    def approve(plans: Sequence[Plan]) -> bool:
        asked.append([plan.host for plan in plans])
        assert jobs.begun == []
        return True

    reports = Rollout(HOSTS, ALL, jobs, lambda _: None, approve=approve).run()
    assert asked == [["a", "c"]]
    assert outcomes(reports) == [Outcome.DEPLOYED, Outcome.NOTHING_TO_DO, Outcome.DEPLOYED]


def test_a_refusal_changes_nobody() -> None:
    jobs = Jobs()
    reports = Rollout(HOSTS, ALL, jobs, lambda _: None, approve=lambda _: False).run()
    assert (outcomes(reports), jobs.begun) == ([Outcome.WOULD_CHANGE] * 3, [])


def test_hosts_work_at_the_same_time() -> None:
    together = threading.Barrier(3)

    def work(turn: Turn) -> DeploymentReport:
        together.wait(SECONDS)
        return report(turn.host)

    assert outcomes(Rollout(HOSTS, ALL, Jobs(work), lambda _: None).run()) == [Outcome.DEPLOYED] * 3


def test_hosts_that_were_not_begun_are_told_with_the_reason() -> None:
    jobs = Jobs(lambda turn: report(turn.host, Outcome.ROLLED_BACK, 8))
    reports = Rollout(HOSTS, Policy(), jobs, lambda _: None).run()
    assert outcomes(reports) == [Outcome.ROLLED_BACK, Outcome.NOT_BEGUN, Outcome.NOT_BEGUN]
    assert jobs.begun == ["a"]
    assert {one.reason for one in reports[1:]} == {"the canary a did not end well"}
    assert {one.exit_code for one in reports[1:]} == {6}


def test_one_failing_host_leaves_those_at_work_alone() -> None:
    failed = threading.Event()

    def work(turn: Turn) -> DeploymentReport:
        if turn.host == "a":
            return report("a", Outcome.FAILED, 4)
        assert failed.wait(SECONDS)
        return report(turn.host)

    def tell(news: News) -> None:
        if isinstance(news, HostEnded) and news.host == "a":
            failed.set()

    reports = Rollout(HOSTS, ALL, Jobs(work), tell).run()
    assert outcomes(reports) == [Outcome.FAILED, Outcome.DEPLOYED, Outcome.DEPLOYED]


def test_errors_and_our_own_mistakes_become_reports() -> None:
    def work(turn: Turn) -> DeploymentReport:
        if turn.host == "a":
            raise Unreachable("a: gone", hint="look")
        if turn.host == "b":
            raise ZeroDivisionError("oh")
        return report(turn.host)

    first, second, third = Rollout(HOSTS, Policy(canary_first=False, max_failures=9), Jobs(work), lambda _: None).run()
    assert (first.error, first.exit_code) == ("a: gone", 3)
    assert second.error is not None
    assert "ZeroDivisionError: oh" in second.error
    assert any("test_rollout.py" in line for line in second.evidence)
    assert third.outcome is Outcome.DEPLOYED


def test_an_interruption_ends_those_at_work_and_begins_nobody() -> None:
    working, ended = threading.Event(), threading.Event()

    def work(turn: Turn) -> DeploymentReport:
        working.set()
        assert ended.wait(SECONDS)
        turn.tell(StepStarted(turn.host, "wait"))
        raise AssertionError("went on after the interruption")

    jobs = Jobs(work)
    rollout = Rollout(HOSTS, Policy(), jobs, lambda _: None, on_interrupt=ended.set)

    def stop() -> None:
        assert working.wait(SECONDS)
        rollout.interrupt()

    stopper = threading.Thread(target=stop)
    stopper.start()
    reports = rollout.run()
    stopper.join()
    assert rollout.interrupted
    assert outcomes(reports) == [Outcome.INTERRUPTED, Outcome.NOT_BEGUN, Outcome.NOT_BEGUN]
    assert jobs.begun == ["a"]
    assert [one.exit_code for one in reports] == [130, 6, 6]


def test_an_interruption_while_looking_leaves_the_rest_unseen() -> None:
    looked: list[str] = []

    def job(turn: Turn) -> DeploymentReport:
        looked.append(turn.host)
        rollout.interrupt()
        while True:  # as a wait does, which tells its state until somebody ends it
            turn.tell(StepStarted(turn.host, "look"))

    rollout = Rollout(HOSTS, Policy(forks=1), job, lambda _: None)
    reports = rollout.run()
    assert looked == ["a"]
    assert outcomes(reports) == [Outcome.NOT_BEGUN] * 3
    assert {one.reason for one in reports} == {"interrupted"}


def test_what_the_question_raises_frees_the_hosts() -> None:
    jobs = Jobs()
    freed = threading.Event()

    def job(turn: Turn) -> DeploymentReport:
        try:
            return jobs(turn)
        finally:
            freed.set()

    def approve(_plans: Sequence[Plan]) -> bool:
        raise KeyboardInterrupt

    try:
        Rollout(("a",), ALL, job, lambda _: None, approve=approve).run()
    except KeyboardInterrupt:
        assert freed.wait(SECONDS)
        assert jobs.begun == []
    else:
        raise AssertionError


def test_a_second_interruption_waits_no_longer_than_for_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_module, "HURRY_SECONDS", 0.2)
    for_ever = threading.Event()

    def work(turn: Turn) -> DeploymentReport:
        rollout.interrupt()
        rollout.interrupt()
        for_ever.wait(SECONDS)
        return report(turn.host)

    rollout = Rollout(HOSTS, Policy(), Jobs(work), lambda _: None)
    try:
        reports = rollout.run()
    finally:
        for_ever.set()
    assert outcomes(reports) == [Outcome.INTERRUPTED, Outcome.NOT_BEGUN, Outcome.NOT_BEGUN]
    assert not reports[0].serving_known
    assert "ddtree-ops status --host a" in str(reports[0].hint)
