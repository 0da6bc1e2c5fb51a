"""The acceptance gate in a deploy: what is kept, what goes back, what the report says."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.errors import GateInconclusive, GateRefused, ServerDied
from ddtree_ops.fleet.release import build
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.flows import gate, gate_record
from ddtree_ops.flows.deploy import Deploy
from ddtree_ops.flows.server import Server
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Step, StepState
from ddtree_ops.units.gate import Verdict
from tests.flows.host_model import HostModel, ModelPlaybooks
from tests.flows.test_deploy import HARDWARE, INPUTS, OLD, SPEC, server, serving_old
from tests.flows.tree_model import TreeModel


def spec(**section: Any) -> ServingSpec:
    return ServingSpec.model_validate({**SPEC.model_dump(exclude_unset=True), "gate": section})


def of(model: HostModel, **section: Any) -> Server:
    return replace(server(model), spec=spec(**section))


def deploy(model: HostModel, **section: Any) -> DeploymentReport:
    wanted = spec(**section)
    release = build(wanted, HARDWARE, INPUTS)
    return Deploy(replace(server(model), spec=wanted), ModelPlaybooks(model), release, lambda _news: None).run()


def gate_step(report: DeploymentReport) -> Step:
    return next(step for step in report.steps if step.name == "gate")


def serving(tree: TreeModel) -> HostModel:
    return serving_old(tree=tree)


def judged(tree: TreeModel, **section: Any) -> gate.Gated:
    return gate.run(of(serving(tree), **section))


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    """Recorded of the modelled server, as if it spoke DFLASH."""
    path = tmp_path / "baseline.json"
    recorded = gate_record.record(of(serving(TreeModel(algorithm="DFLASH", per_step=3))))
    path.write_text(recorded.to_json())
    return path


def test_a_good_release_is_kept_and_the_report_has_the_figures() -> None:
    report = deploy(serving(TreeModel()))
    assert report.outcome is Outcome.DEPLOYED
    step = gate_step(report)
    assert step.state is StepState.OK
    assert step.detail.startswith("acceptance length 3.94, at least 1.20 (the spec's least); answers not compared")
    data = json.loads(json.dumps(report.to_json()))
    figures = next(one for one in data["steps"] if one["name"] == "gate")["figures"]
    assert (figures["verdict"], figures["acceptance_length"], figures["prompts_compared"]) == ("passed", 3.938, None)
    names = [one.name for one in report.steps]
    assert names.index("smoke") + 1 == names.index("gate") == names.index("commit") - 1


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (TreeModel(algorithm="DFLASH"), "speculates by DFLASH"),
        (TreeModel(width=9), "budget 8 and block size 8, but the spec wants budget 31"),
        (TreeModel(counts=False), "stood still"),
        (TreeModel(per_step=1), "acceptance length 1.00 is below 1.20"),
        (TreeModel(metrics=False), "/metrics: HTTP 404"),
    ],
)
def test_a_release_that_fails_the_gate_goes_back(tree: TreeModel, words: str) -> None:
    model = serving(tree)
    report = deploy(model)
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.ROLLED_BACK, 8, OLD)
    assert words in str(report.error)
    assert gate_step(report).state is StepState.FAILED
    assert gate_step(report).figures["verdict"] in ("refused", "inconclusive")
    assert (model.current, model.last_good) == (OLD, OLD)


@pytest.mark.parametrize(("tree", "code"), [(TreeModel(per_step=1), 7), (TreeModel(metrics=False), 10)])
def test_without_a_former_release_the_exit_code_is_the_gates(tree: TreeModel, code: int) -> None:
    report = deploy(HostModel(tree=tree))
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.FAILED, code, None)


def test_inconclusive_may_be_allowed_and_is_said_a_refusal_may_not() -> None:
    report = deploy(serving(TreeModel(metrics=False)), inconclusive="warn")
    assert report.outcome is Outcome.DEPLOYED
    assert gate_step(report).detail == "inconclusive: /metrics: HTTP 404 (kept: gate.inconclusive is warn)"
    assert gate_step(report).figures["verdict"] == "inconclusive"
    assert deploy(serving(TreeModel(algorithm="DFLASH", metrics=False)), inconclusive="warn").outcome is Outcome.ROLLED_BACK


@pytest.mark.parametrize("without", [{"gate": {"enabled": False}}, {"ddtree": None}])
def test_where_there_is_nothing_to_judge_the_gate_says_so(without: dict[str, Any]) -> None:
    plain = ServingSpec.model_validate({**SPEC.model_dump(exclude_unset=True), **without})
    model = serving(TreeModel(algorithm=None))
    found = gate.run(replace(server(model), spec=plain))
    assert (found.verdict, found.keeps) == (Verdict.SKIPPED, True)
    assert found.summary().startswith("skipped: ")
    assert model.tree.generations == 0
    found.check("ct200")


def test_a_server_that_dies_on_a_prompt_is_never_kept() -> None:
    tree = TreeModel(breaks_after=3)
    found = judged(tree, inconclusive="warn")
    assert tree.generations == 4  # no prompt is sent to a server that is gone
    with pytest.raises(ServerDied, match="broken off"):
        found.check("ct200")


def test_other_clients_neither_help_nor_harm() -> None:
    helped = judged(TreeModel(per_step=1, others=500))
    assert helped.verdict is Verdict.REFUSED
    harmed = judged(TreeModel(per_step=4, others=500))
    assert harmed.verdict is Verdict.PASSED
    assert harmed.judgement.acceptance_length == pytest.approx(3.94, abs=0.01)
    with pytest.raises(GateInconclusive, match="other clients"):
        judged(TreeModel(others=500, tells_steps=False)).check("ct200")


def test_a_page_of_counters_has_an_end() -> None:
    """As many labels as fit into a line cost seconds of this machine's time."""
    line = b"sglang_ddtree_committed_tokens_total{" + b",".join(b'l%d="x"' % n for n in range(1500)) + b"} 1\n"
    model = serving(TreeModel())

    class Large:
        def request(self, request: Any) -> Any:
            from tests.flows.host_model import ModelHttp

            response = ModelHttp(model).request(request)
            return replace(response, body=line * 900) if request.path == "/metrics" else response

    found = gate.run(replace(of(model), http=Large()))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "/metrics: the page is larger than 8388608 bytes" in found.summary()


def test_the_recorded_baseline(baseline: Path) -> None:
    same = judged(TreeModel(), baseline=str(baseline))
    assert (same.verdict, same.judgement.equal, same.judgement.compared) == (Verdict.PASSED, 16, 16)
    assert "16 of 16 answers are the recorded ones" in same.summary()
    with pytest.raises(GateRefused, match="0 of 16 answers") as other:
        judged(TreeModel(salt="x"), baseline=str(baseline)).check("ct200")
    assert len(other.value.evidence) == 16
    with pytest.raises(GateRefused, match=r"2.86 of the recorded DFLASH|of the recorded DFLASH x 0.95"):
        judged(TreeModel(per_step=2), baseline=str(baseline)).check("ct200")


def test_a_recording_says_what_was_not_steady() -> None:
    """Every second answer of this server is another one, as numerical ties would make some."""
    tree = TreeModel()
    model = serving(tree)
    recorded = gate_record.record(replace(of(model), http=Wavering(model)))
    assert {answer.steady for answer in recorded.answers} == {10}
    assert recorded.algorithm == "DDTREE"


def test_nothing_is_recorded_of_a_server_that_fails() -> None:
    with pytest.raises(GateInconclusive, match="nothing is recorded"):
        gate_record.record(of(serving(TreeModel(breaks_after=5))))


def test_the_time_limit_is_kept_and_is_no_pass() -> None:
    model = serving(TreeModel())
    found = gate.run(replace(of(model, time_limit=10), clock=Ticking()))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "the time ran out after" in found.summary()
    assert 0 < model.tree.generations < 16


@dataclass
class Wavering:
    """Changes an answer from its 10th token on when the same prompt comes again."""

    model: HostModel

    def request(self, request: Any) -> Any:
        from tests.flows.host_model import ModelHttp

        response = ModelHttp(self.model).request(request)
        prompts = self.model.tree.prompts
        if request.body is None or prompts.count(prompts[-1]) < 2:
            return response
        document = json.loads(response.body)
        document["output_ids"][10] += 1
        return replace(response, body=json.dumps(document).encode())


@dataclass
class Ticking:
    """A clock on which every look takes a second."""

    now: float = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now
