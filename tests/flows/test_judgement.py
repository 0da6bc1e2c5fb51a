"""Findings and waivers in a deploy: what refuses, what is waived until when, what is judged only once it is staged."""

from __future__ import annotations

import json
from datetime import date

import pytest

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.fleet import runtime_findings
from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.release import Release, build
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.flows import judgement, release_source
from ddtree_ops.flows.attempt import result_of
from ddtree_ops.flows.deploy import Deploy
from ddtree_ops.flows.look import look_and_find
from ddtree_ops.ports import Shell
from ddtree_ops.report.deployment import DeploymentReport, Outcome
from ddtree_ops.runtime.source.model import SourceTree
from tests.flows.host_model import HostModel, ModelPlaybooks
from tests.flows.test_deploy import HARDWARE, INPUTS, NEW, SPEC, server, serving_old
from tests.runtime.width_tree import tree

WAIVERS = {"gpus": {"reason": "one is being replaced", "until": "2026-12-31"}}
WAIVING = build(ServingSpec.model_validate({**SPEC.model_dump(exclude_defaults=True), "waivers": WAIVERS}), HARDWARE, INPUTS)


def deploy(model: HostModel, release: Release, today: date) -> DeploymentReport:
    return Deploy(server(model), ModelPlaybooks(model), release, lambda _news: None, today).run()


def test_a_finding_refuses_a_waiver_lets_it_through_and_an_expired_one_refuses_again() -> None:
    refused = deploy(serving_old(gpus=7), NEW, date(2026, 12, 31))
    assert (refused.outcome, refused.exit_code) == (Outcome.REFUSED, 7)
    assert "7 GPUs" in str(refused.error) and "[gpus]" in str(refused.error)
    through = deploy(serving_old(gpus=7), WAIVING, date(2026, 12, 31))
    assert (through.outcome, through.exit_code) == (Outcome.DEPLOYED, 0)
    used = {"finding": "gpus", "reason": "one is being replaced", "until": "2026-12-31"}
    assert through.to_json()["waivers"] == result_of(through)["waivers"] == [used]
    json.dumps(through.to_json())
    late = deploy(serving_old(gpus=7), WAIVING, date(2027, 1, 1))
    assert (late.outcome, late.exit_code) == (Outcome.REFUSED, 7)
    assert "its waiver expired on 2026-12-31: one is being replaced" in str(late.error)


def naive(shell: Shell, release_id: str) -> SourceTree:
    """SGLang with a plugin that tells it nothing of the budget: the story's runtime."""
    return tree("naive", "plain")


def test_the_certain_crash_is_refused_after_staging_where_no_source_was_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_source, "staged", naive)
    model = serving_old()
    report = deploy(model, NEW, date(2026, 11, 30))
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.REFUSED, 7, model.current)
    assert "8 tokens" in str(report.error) and "33" in str(report.error)
    assert (model.played, model.staged_first) == ([], [NEW.id])
    assert [step.name for step in report.steps][-2:] == ["stage", "judge"]


def test_source_that_cant_be_had_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(shell: Shell, release_id: str) -> SourceTree:
        raise HostCommandFailed("no venv")

    monkeypatch.setattr(release_source, "staged", gone)
    assert deploy(serving_old(), NEW, date(2026, 11, 30)).outcome is Outcome.DEPLOYED


def test_an_analysis_that_breaks_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_release: Release, source: SourceTree | None, *_: object) -> tuple[Finding, ...]:
        if source is not None:
            raise RecursionError("too deep")
        return ()

    monkeypatch.setattr(runtime_findings, "runtime_findings", broken)
    monkeypatch.setattr(release_source, "staged", naive)
    model = serving_old(releases=[NEW.id], current=NEW.id, last_good=NEW.id)
    shell = server(model).shell
    plan = judgement.judged_plan(shell, NEW, look_and_find(shell, NEW), date(2026, 11, 30), always=True)
    (note,) = [one for one in plan.findings if one.id == "source_unread"]
    assert (note.severity, "RecursionError" in note.message) == (Severity.NOTE, True)
