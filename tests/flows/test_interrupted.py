"""What the report of an interrupted command says: only what is true of the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ddtree_ops.errors import DdtreeOpsError, Locked
from ddtree_ops.flows.deploy import Deploy
from ddtree_ops.flows.interrupted import interrupted_at, left_behind, unfinished, verb_interrupted
from ddtree_ops.flows.progress import News, StepEnded, StepStarted
from ddtree_ops.flows.rollback import Rollback
from ddtree_ops.flows.switching import restart_and_wait
from ddtree_ops.ports import TaskResult
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Step, StepState
from tests.flows.host_model import HostModel, ModelPlaybooks
from tests.flows.lock_model import HOLDER
from tests.flows.test_attempts import deploy_with, recorded
from tests.flows.test_deploy import NEW, OLD, server, serving_old

WAITS = (
    f"{NEW.id} is not committed: the host goes back to {OLD} by itself in about 75 s unless its deploy is run again"
    " (it waits while somebody holds the lock)"
)


def interrupt_at(step: str, steps: list[Step] | None = None) -> Callable[[News], None]:
    def tell(news: News) -> None:
        if isinstance(news, StepEnded) and steps is not None:
            steps.append(news.step)
        if isinstance(news, StepStarted) and news.step == step:
            raise KeyboardInterrupt

    return tell


def interrupted_deploy(model: HostModel, step: str) -> DeploymentReport:
    steps: list[Step] = []
    with pytest.raises(KeyboardInterrupt):
        Deploy(server(model), ModelPlaybooks(model), NEW, interrupt_at(step, steps)).run()
    return interrupted_at(server(model), NEW.id, steps)


@pytest.mark.parametrize("step", ["look again", "stage", "validate"])
def test_before_the_switch_nothing_was_switched(step: str) -> None:
    report = interrupted_deploy(serving_old(), step)
    assert report.hint == "nothing was switched; the same deploy takes it up again"
    assert (report.exit_code, report.serving) == (130, OLD)


def test_after_the_switch_the_host_goes_back_by_itself() -> None:
    report = interrupted_deploy(serving_old(), "smoke")
    assert report.hint is not None
    assert report.hint.startswith(f"uncommitted; the host goes back to {OLD} by itself in about ")
    assert report.hint.endswith(" s unless the same deploy is run again")


def test_armed_but_not_switched() -> None:
    model = serving_old()
    report = interrupted_deploy(model, "switch")
    assert model.current == OLD
    assert str(report.hint).startswith(f"nothing was switched; the host goes back to {OLD} by itself in about ")


def test_a_host_that_cannot_be_asked() -> None:
    report = interrupted_at(server(serving_old(unreachable=True)), NEW.id, ())
    assert (report.serving_known, report.hint) == (
        False,
        "nothing was switched; `ddtree-ops status --host ct200` says what serves and whether the host goes back by itself",
    )


def test_a_step_in_plain_words() -> None:
    steps: list[Step] = []

    def tell(news: News) -> None:
        if isinstance(news, StepEnded):
            steps.append(news.step)
        elif not isinstance(news, StepStarted) and steps and steps[-1].name == "plan":
            raise KeyboardInterrupt

    model = serving_old()
    with pytest.raises(KeyboardInterrupt):
        Deploy(server(model), ModelPlaybooks(model), NEW, tell).run()
    assert (steps[-1].name, steps[-1].detail) == ("stage", "interrupted")


def test_an_interrupted_rollback_is_a_report_and_recorded_with_its_dead_man() -> None:
    model = serving_old(releases=[OLD, "lab-a1"])
    opened, audit = recorded(model)
    report = Rollback(opened, ModelPlaybooks(model), "lab-a1", interrupt_at("wait")).run()
    assert (report.outcome, report.exit_code, report.release) == (Outcome.INTERRUPTED, 130, "lab-a1")
    assert "goes back to lab-0000000000 by itself" in str(report.hint)
    assert "unless `ddtree-ops rollback --host ct200 --to lab-a1` is run again" in str(report.hint)
    for record in (audit.records[-1], model.lock_program.told[-1]):
        assert record["outcome"] == "interrupted"
        assert str(record["dead_man"]).startswith(f"uncommitted: goes back to {OLD} within ")


def test_what_was_committed_has_no_dead_man_in_its_record() -> None:
    model = serving_old()
    opened, audit = recorded(model)
    Deploy(opened, ModelPlaybooks(model), NEW, lambda _: None).run()
    assert "dead_man" not in audit.records[-1]


@pytest.mark.parametrize("active", ["active", "activating", "inactive"])
def test_an_interrupted_restart_says_what_serves(active: str) -> None:
    report = verb_interrupted(server(serving_old(active=active)), "restart")
    assert (report.exit_code, report.serving) == (130, OLD if active == "active" else None)
    assert report.error == "ct200: interrupted in restart"
    assert ("ddtree-ops wait" in str(report.hint)) == (active == "activating")


class Failing(ModelPlaybooks):
    """One task and one playbook fail."""

    def __init__(self, model: HostModel, task: str, playbook: str, error: DdtreeOpsError) -> None:
        super().__init__(model)
        self._task, self._playbook, self._error = task, playbook, error

    def run(self, playbook: str, host: str, variables: Mapping[str, Any], on_task: Callable[[TaskResult], None]) -> None:
        if playbook == self._playbook:
            raise self._error
        self.model.failing_playbook = self._task
        super().run(playbook, host, variables, on_task)


@pytest.mark.parametrize(("task", "promised"), [("Arm the dead-man", False), ("Switch to the release", True)])
def test_the_dead_man_is_promised_only_where_it_is_armed(task: str, promised: bool) -> None:
    model = serving_old()
    report = Deploy(server(model), Failing(model, task, "switch", DdtreeOpsError("no")), NEW, lambda _: None).run()
    assert (report.outcome, report.exit_code) == (Outcome.FAILED, 1)
    assert ("by itself" in str(report.hint)) == promised


def test_a_lock_lost_on_the_way_back_is_no_promise() -> None:
    model = serving_old(crashing={NEW.id})
    playbooks = Failing(model, "", "switch", Locked("ct200: this host's lock was lost: anna@laptop"))
    report = Deploy(server(model), playbooks, NEW, lambda _: None).run()
    assert (report.outcome, report.exit_code) == (Outcome.FAILED, 9)
    assert str(report.hint).startswith("this command had switched the release and restarted the server; ")
    assert str(report.hint).endswith("(it waits while somebody holds the lock)")
    assert "anna@laptop" in str(report.error)


def test_whoever_took_the_lock_is_named() -> None:
    model = serving_old()

    command = "stop --break-lock --host ct200"
    report = deploy_with(model, "restart", lambda: model.lock_program.take_away(command=command))
    assert report.exit_code == 9
    taken = f"taken from us by anna@laptop (pid 4711) since {HOLDER['since']}: {command}"
    assert report.error == f"ct200: the lock was {taken}"


@pytest.mark.parametrize(
    ("step", "moved", "then"),
    [
        ("stage", "switched nothing", "nothing waits for a commit: whoever has the lock decides what stays"),
        ("restart", "switched the release and restarted the server", WAITS),
        ("smoke", "switched the release and restarted the server", WAITS),
    ],
)
def test_the_loser_says_what_it_had_moved_and_what_becomes_of_it(step: str, moved: str, then: str) -> None:
    model = serving_old()
    report = deploy_with(model, step, model.lock_program.take_away)
    assert report.exit_code == 9
    assert report.hint == f"this command had {moved}; {then}"


def test_a_loser_of_a_host_that_cannot_be_asked() -> None:
    hint = left_behind(server(serving_old(unreachable=True)), (Step("switch", StepState.OK, 1.0),))
    assert hint.startswith("this command had switched the release; `ddtree-ops status --host ct200` says ")


def test_a_restart_tells_of_a_deploy_that_is_not_committed() -> None:
    model = serving_old()
    assert unfinished(server(model)) is None
    interrupted_deploy(model, "smoke")
    restart_and_wait(server(model), lambda _: None, break_lock=True)
    assert unfinished(server(model)) == WAITS.removesuffix(" (it waits while somebody holds the lock)")
    assert unfinished(server(serving_old(unreachable=True))) is None


def test_whoever_held_it_meanwhile_is_named_too() -> None:
    """A laptop that slept through another's whole deploy must not go on as if nothing had been."""
    model = serving_old()
    model.lock_program.held = False
    report = deploy_with(model, "restart", model.lock_program.take_away)
    assert report.exit_code == 9
    assert str(report.error).endswith("deploy --host ct200 (has ended)")


@pytest.mark.parametrize("command", ["deploy", "rollback"])
def test_an_end_that_the_host_could_not_write_down_is_told(command: str) -> None:
    """As with a full disk, where the deploy itself found room."""
    model = serving_old(releases=[OLD, "lab-a1"], committed=["lab-a1", OLD])
    model.lock_program.recording = False
    rollback = Rollback(server(model), ModelPlaybooks(model), "lab-a1", lambda _: None)
    report = rollback.run() if command == "rollback" else Deploy(server(model), ModelPlaybooks(model), NEW, lambda _: None).run()
    assert (report.outcome, report.exit_code) == (Outcome.DEPLOYED, 0)
    assert report.hint == "/var/lib/ddtree/audit.jsonl of ct200 has no end of this attempt (a lost connection, a full disk?)"
