"""A deploy under the host's lock: who is kept out, what is recorded, what an interrupted one leaves to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml

from ddtree_ops import assets
from ddtree_ops.errors import Locked
from ddtree_ops.flows.converge import ARM, STAGE, SWITCH, VALIDATE, step_of
from ddtree_ops.flows.deploy import Deploy
from ddtree_ops.flows.lock import held
from ddtree_ops.flows.progress import LoadNews, News, StepEnded, StepStarted
from ddtree_ops.flows.rollback import Rollback
from ddtree_ops.flows.server import Server
from ddtree_ops.flows.switching import restart_and_wait, stop_locked
from ddtree_ops.ports import Operator, TaskResult, TaskState
from ddtree_ops.report.deployment import DeploymentReport, Outcome
from tests.flows.host_model import HostModel, ModelPlaybooks, ModelShell
from tests.flows.lock_model import HOLDER
from tests.flows.test_deploy import NEW, OLD, deploy, server, serving_old


class Recorder:
    """The controller's audit log in memory."""

    operator = Operator("ben", "desk", 17, "deploy --host ct200")

    def __init__(self) -> None:
        self.records: list[Mapping[str, Any]] = []

    def append(self, record: Mapping[str, Any]) -> None:
        self.records.append(record)


def recorded(model: HostModel) -> tuple[Server, Recorder]:
    audit = Recorder()
    return replace(server(model), audit=audit), audit


def nothing(_news: News) -> None:
    pass


def locked(model: HostModel) -> HostModel:
    model.lock_program.holder = HOLDER
    return model


def test_a_locked_host_is_left_alone() -> None:
    model = locked(serving_old())
    report = deploy(model)
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.REFUSED, 9, OLD)
    assert "anna@laptop (pid 4711) since 2026-11-30T01:02:03Z: deploy --host ct200" in str(report.error)
    assert "--break-lock" in str(report.hint)
    assert model.played == []


def test_nothing_to_do_asks_for_no_lock() -> None:
    model = locked(serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id))
    assert deploy(model).outcome is Outcome.NOTHING_TO_DO
    assert deploy(locked(serving_old()), dry_run=True).outcome is Outcome.WOULD_CHANGE
    assert model.lock_program.asked == []


def test_a_lock_can_be_taken_by_force() -> None:
    model = locked(serving_old())
    report = Deploy(server(model), ModelPlaybooks(model), NEW, nothing).run(break_lock=True)
    assert report.outcome is Outcome.DEPLOYED


@pytest.mark.parametrize("verb", ["rollback", "stop", "restart"])
def test_everything_that_changes_a_host_asks_for_the_lock(verb: str) -> None:
    model = locked(serving_old(releases=[OLD, "lab-a1"]))
    if verb == "rollback":
        assert Rollback(server(model), ModelPlaybooks(model), "lab-a1", nothing).run().exit_code == 9
    else:
        with pytest.raises(Locked):
            stop_locked(server(model)) if verb == "stop" else restart_and_wait(server(model), nothing)
    assert model.played == []
    assert not any(argv[:2] in {("systemctl", "stop"), ("systemctl", "restart")} for argv in model.commands)


def deploy_with(model: HostModel, at: str, do: Any, *, full: bool = False) -> DeploymentReport:
    """A deploy during which something happens when the step `at` begins."""

    def tell(news: News) -> None:
        if isinstance(news, StepStarted) and news.step == at:
            do()

    return Deploy(server(model), ModelPlaybooks(model), NEW, tell).run(full=full)


def test_whoever_breaks_the_lock_decides_what_becomes_of_the_host() -> None:
    model = serving_old()
    report = deploy_with(model, "restart", model.lock_program.take_away)
    assert (report.outcome, report.exit_code) == (Outcome.FAILED, 9)
    assert "taken from us" in str(report.error)
    assert [name for name, _ in model.played] == ["converge"], "neither the way back nor a commit"
    assert model.dead_man is not None


def test_a_lost_connection_is_made_again_under_the_same_token() -> None:
    model = serving_old()

    def cut() -> None:
        stream = model.lock_program.open
        assert stream is not None
        stream.lose()

    assert deploy_with(model, "validate", cut).outcome is Outcome.DEPLOYED
    first, second = model.lock_program.asked
    assert first["token"] == second["token"]


def test_an_end_of_the_lock_program_is_no_theft() -> None:
    """As `pkill` by a broad name, the kernel for want of memory, or a host that reboots ends it."""
    model = serving_old()
    assert deploy_with(model, "restart", model.lock_program.end).outcome is Outcome.DEPLOYED
    assert [one["again"] for one in model.lock_program.asked] == [False, True]


def test_what_changed_before_we_had_the_lock_is_seen() -> None:
    """Somebody else deployed the same, between our look and our lock."""
    model = serving_old()

    def meanwhile() -> None:
        model.releases.append(NEW.id)
        model.current = model.running = model.last_good = NEW.id

    report = deploy_with(model, "lock", meanwhile)
    assert (report.outcome, model.played) == (Outcome.NOTHING_TO_DO, [])


def test_every_attempt_is_recorded_here_and_on_the_host() -> None:
    model = serving_old(crashing={NEW.id})
    opened, audit = recorded(model)
    Deploy(opened, ModelPlaybooks(model), NEW, nothing).run()
    (told,) = model.lock_program.told
    assert [one["event"] for one in audit.records] == ["deploy begun", "deploy"]
    for record in (told, audit.records[-1]):
        assert (record["user"], record["controller"], record["pid"]) == ("ben", "desk", 17)
        assert (record["outcome"], record["exit_code"], record["serving"]) == ("rolled_back", 8, OLD)
        assert record["plan"][0] == ["release", OLD, NEW.id]
        assert {"stage", "restart", "wait", "switch back"} <= record["steps"].keys()


def test_what_never_came_to_the_lock_is_recorded_here() -> None:
    for model, outcome in ((serving_old(gpus=7), "refused"), (serving_old(unreachable=True), "failed")):
        opened, audit = recorded(model)
        Deploy(opened, ModelPlaybooks(model), NEW, nothing).run()
        assert [one["outcome"] for one in audit.records] == [outcome]


def test_an_interrupted_attempt_is_recorded_here() -> None:
    model = serving_old()
    opened, audit = recorded(model)

    def interrupt(news: News) -> None:
        if isinstance(news, StepStarted) and news.step == "wait":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Deploy(opened, ModelPlaybooks(model), NEW, interrupt).run()
    assert audit.records[-1]["outcome"] == "interrupted"


def test_the_dead_man_knows_the_way_back_and_is_disarmed_at_the_commit() -> None:
    model = serving_old()
    deploy(model)
    sent = next(one for one in model.variables if "service_back_to" in one)
    assert (sent["service_back_to"], model.dead_man) == (OLD, None)
    assert sent["service_deadman_s"] > SPEC_SECONDS


SPEC_SECONDS = 1800 + 60


@pytest.mark.parametrize("changes", [{"crashing": {NEW.id}}, {"wrong": {NEW.id}}, {"failing_playbook": "commit"}])
def test_the_way_back_disarms(changes: dict[str, object]) -> None:
    model = serving_old(**changes)
    deploy(model)
    assert (model.dead_man, model.current) == (None, OLD)


def test_a_failure_before_the_switch_goes_no_way_back() -> None:
    model = serving_old(failing_playbook="Stage the release")
    report = deploy(model)
    assert (report.outcome, report.serving) == (Outcome.FAILED, OLD)
    assert (model.played, model.staged_first) == ([], [NEW.id])


def test_a_full_deploy_killed_before_its_restart_is_not_taken_for_done() -> None:
    """The same release with another key: links, unit and process look right, but the process never got the key."""
    model = serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id)

    class Killed(BaseException):
        pass

    def kill() -> None:
        raise Killed

    with pytest.raises(Killed):
        deploy_with(model, "restart", kill, full=True)
    runs = model.runs
    assert deploy(model, dry_run=True).outcome is Outcome.WOULD_CHANGE
    assert deploy(model).outcome is Outcome.DEPLOYED
    assert model.runs == runs + 1
    assert deploy(model).outcome is Outcome.NOTHING_TO_DO


def test_a_server_that_somebody_stops_meanwhile_is_no_failure_of_the_release() -> None:
    """`systemctl stop` by hand: what was stopped is not started again, and the link goes back to what was good."""
    model = serving_old()
    restart = model.restart

    def loads_for_ever() -> None:
        restart()
        model.active = "activating"

    def stop(news: News) -> None:
        if isinstance(news, LoadNews):
            model.active = "inactive"

    model.restart = loads_for_ever  # type: ignore[method-assign]
    report = Deploy(server(model), ModelPlaybooks(model), NEW, stop).run()
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.FAILED, 1, None)
    assert "somebody stopped" in str(report.error)
    assert (model.current, model.dead_man, model.active) == (OLD, None, "inactive")
    assert report.failure is None


def test_steps_follow_the_tasks_of_the_playbook() -> None:
    steps: list[str] = []

    def tell(news: News) -> None:
        if isinstance(news, StepEnded):
            steps.append(news.step.name)

    model = serving_old()
    Deploy(server(model), ModelPlaybooks(model), NEW, tell).run()
    assert steps[5:12] == ["stage", "judge", "stage", "validate", "arm", "switch", "restart"]


@pytest.mark.parametrize(
    ("role", "file", "step"),
    [("runtime", "main", STAGE), ("service", "credentials", STAGE), ("runtime", "validate", VALIDATE), ("service", "arm", ARM),
     ("service", "switch", SWITCH)],
)  # fmt: skip
def test_every_task_of_the_roles_belongs_to_its_step(role: str, file: str, step: str) -> None:
    path = assets.root() / "roles" / role / "tasks" / f"{file}.yml"
    for task in yaml.safe_load(path.read_text()):
        assert step_of(TaskResult("h", role, task["name"], TaskState.OK)) == step, task["name"]


def test_a_lock_that_nobody_answers_for_is_unreachable_not_for_ever() -> None:
    with pytest.raises(Locked), held(ModelShell(locked(serving_old())), Recorder.operator):
        raise AssertionError("never held")


def breaks() -> None:
    raise TypeError("unhashable type: 'list'")


@pytest.mark.parametrize("at", ["restart", "wait", "smoke", "gate", "commit"])
def test_a_mistake_of_ours_leads_to_the_way_back_too(at: str) -> None:
    model = serving_old()
    report = deploy_with(model, at, breaks)
    assert (report.exit_code, report.serving, model.current, model.dead_man) == (1, OLD, OLD, None)
    assert report.error == "ct200: a mistake in ddtree-ops: TypeError: unhashable type: 'list'"
    assert any("in breaks" in line for line in report.evidence)
    assert "traceback" in str(report.hint)


def test_a_mistake_of_ours_in_a_rollback_leads_back_too() -> None:
    model = serving_old(releases=[OLD, "lab-a1"], committed=["lab-a1", OLD])

    def tell(news: News) -> None:
        if isinstance(news, StepStarted) and news.step == "smoke":
            breaks()

    report = Rollback(server(model), ModelPlaybooks(model), "lab-a1", tell).run()
    assert (report.exit_code, report.serving, model.current) == (1, OLD, OLD)


def test_damaged_orders_of_the_dead_man_are_replaced_by_the_next_deploy() -> None:
    model = serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id, dead_man={"seconds_left": None, "release": [1]})
    assert deploy(model).outcome is Outcome.DEPLOYED
    assert model.dead_man is None
    assert deploy(model).outcome is Outcome.NOTHING_TO_DO
