"""The deploy flow over a modelled host: which steps run, what serves afterwards, which exit code."""

from __future__ import annotations

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.errors import exit_code
from ddtree_ops.fleet.hardware import profile
from ddtree_ops.fleet.release import LocalWheel, Release, ReleaseInputs, build
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.flows.deploy import Deploy
from ddtree_ops.flows.rollback import Rollback
from ddtree_ops.flows.server import Server
from ddtree_ops.report.deployment import DeploymentReport, Outcome
from tests.flows.host_model import HostModel, ModelHttp, ModelPlaybooks, ModelShell

HARDWARE = profile("rtx-pro-6000-8x")
SPEC = ServingSpec.model_validate(
    {
        "model": {"path": "/srv/m"},
        "draft_model": {"path": "/srv/d"},
        "ddtree": {"budget": 31},
        "smoke": [{"prompt": "The capital of France is", "expect": "Paris"}],
    }
)
INPUTS = ReleaseInputs("lab", "x==1 --hash=sha256:00", "[Unit]", (LocalWheel("/w/p.whl", "00"),))
NEW = build(SPEC, HARDWARE, INPUTS)
OLD = "lab-0000000000"


def server(model: HostModel) -> Server:
    return Server(ModelShell(model), ModelHttp(model), SystemClock(), SPEC, SPEC.port)


def deploy(model: HostModel, *, release: Release = NEW, dry_run: bool = False, full: bool = False) -> DeploymentReport:
    return Deploy(server(model), ModelPlaybooks(model), release, lambda _news: None).run(dry_run=dry_run, full=full)


def serving_old(**changes: object) -> HostModel:
    model = HostModel(releases=[OLD], current=OLD, last_good=OLD, active="active", runs=1, committed=[OLD])
    for name, value in changes.items():
        setattr(model, name, value)
    model.running = model.running or model.current
    model.unit_port = model.port(model.running)
    return model


def test_a_fresh_host() -> None:
    model = HostModel()
    report = deploy(model)
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.DEPLOYED, 0, NEW.id)
    assert [name for name, _ in model.played] == ["converge", "commit"]
    assert model.last_good == model.current == NEW.id


def test_the_same_again_does_nothing() -> None:
    model = serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id)
    assert deploy(model).outcome is Outcome.NOTHING_TO_DO
    assert model.played == []
    assert deploy(model, full=True).outcome is Outcome.DEPLOYED


def test_a_release_that_serves_uncommitted_is_taken_up() -> None:
    """The controller was killed between ready and commit: smoke and commit are still owed."""
    model = serving_old(releases=[OLD, NEW.id], current=NEW.id)
    report = deploy(model)
    assert report.outcome is Outcome.DEPLOYED
    assert [name for name, _ in model.played] == ["commit"]
    assert model.last_good == NEW.id


def test_an_uncommitted_release_with_wrong_answers_goes_back() -> None:
    model = serving_old(releases=[OLD, NEW.id], current=NEW.id, wrong={NEW.id})
    assert deploy(model).outcome is Outcome.ROLLED_BACK
    assert model.current == OLD


def test_a_changed_port_stops_the_old_server_and_the_way_back_finds_its_port() -> None:
    model = serving_old(ports={OLD: 31000}, crashing={NEW.id})
    report = deploy(model)
    assert (report.outcome, report.serving) == (Outcome.ROLLED_BACK, OLD)
    disabled = [argv[-1] for argv in model.commands if argv[:2] == ("systemctl", "disable")]
    assert disabled == ["ddtree-server@31000.service", "ddtree-server@30000.service"]


def test_a_change_of_port_that_was_cut_short_is_seen() -> None:
    """Killed between link and restart: the old release still serves on its own port, and a failure goes back to it."""
    model = serving_old(releases=[OLD, NEW.id], ports={OLD: 31000}, current=NEW.id, running=OLD, crashing={NEW.id})
    assert deploy(model, dry_run=True).serving == OLD
    report = deploy(model)
    assert (report.outcome, report.serving) == (Outcome.ROLLED_BACK, OLD)
    assert model.unit_port == 31000


def test_a_current_release_without_a_manifest_is_staged_anew() -> None:
    model = serving_old(releases=[], damaged={NEW.id}, current=NEW.id, last_good=NEW.id)
    assert deploy(model, dry_run=True).outcome is Outcome.WOULD_CHANGE
    report = deploy(model)
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.DEPLOYED, 0, NEW.id)
    assert model.played[0][0] == "converge"


def test_a_current_release_whose_directory_is_gone_is_staged_anew() -> None:
    model = serving_old(releases=[], current=NEW.id, last_good=NEW.id)
    assert deploy(model).outcome is Outcome.DEPLOYED
    assert model.played[0][0] == "converge"


def test_a_dry_run_plays_nothing() -> None:
    model = serving_old()
    report = deploy(model, dry_run=True)
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.WOULD_CHANGE, 6, OLD)
    assert model.played == []


def test_a_crash_brings_the_former_release_back_with_the_reason() -> None:
    model = serving_old(crashing={NEW.id})
    report = deploy(model)
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.ROLLED_BACK, 8, OLD)
    assert model.current == model.last_good == OLD
    assert model.active == "active"
    assert report.failure is not None
    assert report.failure.root is not None
    assert "it broke" in report.failure.root.title


def test_a_crash_with_nothing_to_go_back_to_stops_the_unit() -> None:
    model = HostModel(crashing={NEW.id})
    report = deploy(model)
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.FAILED, 4, None)
    assert model.active == "inactive"
    assert model.last_good is None


def test_when_both_releases_crash_the_report_says_so() -> None:
    report = deploy(serving_old(crashing={NEW.id, OLD}))
    assert (report.outcome, report.serving) == (Outcome.FAILED, None)
    assert "the way back failed" in str(report.error)


def test_wrong_answers_go_back_too() -> None:
    report = deploy(serving_old(wrong={NEW.id}))
    assert (report.outcome, report.exit_code) == (Outcome.ROLLED_BACK, 8)
    assert "garbage" in str(report.error)


@pytest.mark.parametrize(
    ("changes", "exit_code", "said"),
    [
        ({"gpus": 7}, 7, "7 GPUs"),
        ({"gpus": 0}, 7, "no GPU seen"),
        ({"refused_by_sglang": True}, 7, "--nope"),
        ({"failing_playbook": "Stage the release"}, 1, "no space left"),
        ({"unreachable": True}, 3, "no connection"),
    ],
)
def test_what_fails_before_the_switch_leaves_the_old_server_alone(changes: dict[str, object], exit_code: int, said: str) -> None:
    model = serving_old(**changes)
    report = deploy(model)
    assert report.exit_code == exit_code
    assert said in str(report.error)
    assert model.current == OLD
    assert not any(argv[:2] == ("systemctl", "restart") for argv in model.commands)


def test_a_failing_switch_leaves_the_running_server_alone() -> None:
    model = serving_old(failing_playbook="Switch to the release")
    report = deploy(model)
    assert report.outcome is Outcome.FAILED
    assert (report.serving, report.serving_known) == (OLD, True)
    assert not any(argv[1] in ("restart", "stop") for argv in model.commands if argv[0] == "systemctl")


def test_a_link_without_a_restart_is_not_taken_for_a_running_release() -> None:
    """The controller was killed between the switch of the link and the restart."""
    model = serving_old(releases=[OLD, NEW.id], current=NEW.id, running=OLD)
    report = deploy(model, dry_run=True)
    assert (report.outcome, report.serving) == (Outcome.WOULD_CHANGE, OLD)
    assert deploy(model).outcome is Outcome.DEPLOYED
    assert model.running == NEW.id


def test_an_edited_unit_file_is_put_right() -> None:
    model = serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id, unit_edited=True)
    assert deploy(model, dry_run=True).outcome is Outcome.WOULD_CHANGE
    assert deploy(model).outcome is Outcome.DEPLOYED


def test_a_last_good_that_is_gone_is_no_way_back() -> None:
    model = serving_old(last_good="lab-gone", crashing={NEW.id})
    report = deploy(model)
    assert (report.outcome, report.serving) == (Outcome.ROLLED_BACK, OLD)


def test_a_host_that_is_lost_is_not_said_to_serve_nothing() -> None:
    report = deploy(serving_old(unreachable=True))
    assert not report.serving_known


def rollback(model: HostModel, wanted: str | None = None) -> DeploymentReport:
    return Rollback(server(model), ModelPlaybooks(model), wanted, lambda _news: None).run()


def test_rollback_goes_to_the_latest_that_was_good() -> None:
    model = serving_old(
        releases=["lab-a1", "lab-a2", "lab-bad", "lab-b3"], current="lab-b3", committed=["lab-a1", "lab-a2", "lab-b3"]
    )
    report = rollback(model)
    assert (report.exit_code, report.serving, model.last_good) == (0, "lab-a2", "lab-a2")


def test_rollback_never_chooses_what_was_never_good() -> None:
    report = rollback(serving_old(releases=[OLD, "lab-bad"]))
    assert report.exit_code == 2
    assert "--to lab-bad" in str(report.hint)
    assert report.serving == OLD


def test_rollback_to_what_was_never_good_has_to_pass_the_gate() -> None:
    never = rollback(serving_old(releases=[OLD, "lab-bad"]), "lab-bad")
    assert "gate" in [step.name for step in never.steps]
    model = serving_old(releases=["lab-a1", "lab-b3"], current="lab-b3", committed=["lab-a1", "lab-b3"])
    assert "gate" not in [step.name for step in rollback(model).steps]


def test_rollback_refuses_a_release_that_was_changed_on_the_host() -> None:
    files = {"lab-a1": {"listed": 2, "more": 0, "changed": ["venv/x.py"], "missing": [], "added": []}}
    model = serving_old(releases=["lab-a1", "lab-b3"], current="lab-b3", committed=["lab-a1", "lab-b3"], files=files)
    report = rollback(model)
    assert (report.exit_code, report.serving, model.played) == (7, "lab-b3", [])
    assert "venv/x.py" in str(report.error)


def test_rollback_to_what_serves_restarts_nothing() -> None:
    model = serving_old()
    assert rollback(model, OLD).outcome is Outcome.NOTHING_TO_DO
    assert model.played == []


def test_a_rollback_that_fails_brings_back_what_served() -> None:
    report = rollback(serving_old(releases=[OLD, "lab-bad"], crashing={"lab-bad"}), "lab-bad")
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.ROLLED_BACK, 8, OLD)
    assert report.failure is not None


def test_a_failed_rollback_with_nothing_before_stops_the_unit_that_failed() -> None:
    model = serving_old(releases=["lab-bad"], ports={"lab-bad": 31000}, current=None, last_good=None, active="inactive")
    model.crashing = {"lab-bad"}
    report = rollback(model, "lab-bad")
    assert (report.outcome, report.serving) == (Outcome.FAILED, None)
    assert ("systemctl", "stop", "ddtree-server@31000.service") in model.commands


def test_an_ambiguous_prefix_is_refused() -> None:
    report = rollback(serving_old(releases=["lab-a1", "lab-a2", OLD]), "lab-a")
    assert report.exit_code == 2
    assert "several" in str(report.error)
    assert report.serving == OLD


def test_the_highest_ranking_exit_code_wins() -> None:
    assert exit_code([0, 8, 3]) == 3
    assert exit_code([7, 4]) == 4
    assert exit_code([0, 0]) == 0
    assert exit_code([6]) == 6
    assert exit_code([]) == 0


def test_the_release_id_follows_the_content() -> None:
    other = ServingSpec.model_validate({**SPEC.model_dump(), "server_args": {"max-running-requests": 4}})
    assert build(SPEC, HARDWARE, INPUTS).id == NEW.id
    assert build(other, HARDWARE, INPUTS).id != NEW.id
