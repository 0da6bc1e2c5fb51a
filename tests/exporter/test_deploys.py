"""What the records of the audit log come to: attempts by result, their times, smoke tests and gates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.exporter.collectors.deploys import DeploysCollector
from ddtree_ops.flows.attempt import result_of
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Step, StepState
from tests.exporter.attempts import AT, WHO, counts, deploy, told, watching
from tests.exporter.shells import HostFolder

pytestmark = pytest.mark.processes

BEGUN, LOST = {**WHO, "event": "begun"}, {**WHO, "event": "controller lost"}
BROKEN = {**WHO, "pid": 2, "command": "stop --host ct200 --break-lock", "event": "lock broken", "holder": WHO}


@pytest.fixture
def host(tmp_path: Path) -> HostFolder:
    return HostFolder(tmp_path)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([BEGUN, deploy()], "deploy/ok"),
        ([deploy("nothing_to_do")], "deploy/ok"),
        ([deploy("rolled_back")], "deploy/rolled_back"),
        ([deploy("refused")], "deploy/refused"),
        ([deploy("interrupted")], "deploy/interrupted"),
        ([{**WHO, "event": "restart", "outcome": "ready"}], "restart/ok"),
        ([{**WHO, "event": "restart", "outcome": "died"}], "restart/failed"),
        ([{**WHO, "event": "stop", "outcome": "stopped"}], "stop/ok"),
        ([{**WHO, "event": "start", "outcome": "stopped"}], "start/failed"),
        ([{"event": "dead-man", "release": "b", "back_to": "a"}], "dead_man/rolled_back"),
        ([LOST, deploy()], "deploy/ok"),  # it came back
        ([LOST, {**BEGUN, "pid": 2}], "deploy/interrupted"),  # the next one shows that it doesn't
        ([BEGUN, {**BEGUN, "pid": 2}], "deploy/interrupted"),  # its program was killed, which leaves no word
        ([BEGUN, BROKEN, {**BEGUN, "pid": 2}, LOST], "deploy/interrupted"),
        ([LOST, BROKEN], "deploy/interrupted"),
        ([BROKEN], "deploy/interrupted"),  # its beginning was in a file that is forgotten
        ([BEGUN, deploy(), BROKEN], "deploy/ok"),  # between its last word and its end
        ([LOST], None),
        ([BEGUN], None),
        ([{**BROKEN, "holder": [WHO]}], None),
        ([{"event": "commit", "release": "x"}, {**WHO, "event": "locked out", "holder": {}}], None),
        ([{"event": "deploy"}], None),
        ([{"event": ["deploy"], "outcome": "deployed"}], None),
        ([deploy(at="soon")], None),
        ([deploy(at=None)], None),
        ([{**LOST, "command": {"a": 1}, "at": 5}], None),
    ],
)
def test_result(host: HostFolder, records: list[dict[str, Any]], expected: str | None) -> None:
    host.audit(*records)
    assert counts(watching(host)) == ({expected: 1} if expected else {})


def test_an_attempt_whose_controller_is_gone_for_good(host: HostFolder) -> None:
    host.audit(BEGUN, LOST)
    now = [AT + 60]
    collector = DeploysCollector(host.target(), None, lambda: now[0])
    assert counts(collector) == {}
    now[0] = AT + 121
    assert counts(collector) == counts(collector) == {"deploy/interrupted": 1}


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([BEGUN, deploy(), LOST], {"deploy/ok": 1}),  # ended between its last word and its end
        ([BEGUN, LOST, {**WHO, "event": "controller back"}], {}),
        ([BEGUN, LOST, {**WHO, "event": "controller back"}, deploy()], {"deploy/ok": 1}),
        ([BEGUN, deploy(), BEGUN, LOST], {"deploy/ok": 1, "deploy/interrupted": 1}),  # the same process, once more
    ],
)
def test_each_attempt_has_one_end(host: HostFolder, records: list[dict[str, Any]], expected: dict[str, float]) -> None:
    now = [AT]
    collector = DeploysCollector(host.target(), None, lambda: now[0])
    for record in records:
        host.audit(record)
        collector.read()
    now[0] += 3600
    assert counts(collector) == counts(collector) == expected


def test_times(host: HostFolder) -> None:
    host.audit(deploy(), deploy(seconds=20, at="2026-11-30T11:00:00Z"))
    found = told(watching(host))
    assert found["deploy_last_duration_seconds", "deploy"] == 20
    assert found["deploy_last_timestamp_seconds", "deploy", "ok"] == AT + 3600


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:09Z", "9999-12-31T23:59:59Z"])
def test_a_clock_that_was_wrong_gives_a_count_without_a_time(host: HostFolder, at: str) -> None:
    host.audit(deploy(at=at), {**LOST, "pid": 2, "at": at})
    now = [AT]
    collector = DeploysCollector(host.target(), None, lambda: now[0])
    assert ("deploy_last_timestamp_seconds", "deploy", "ok") not in told(collector)
    assert counts(collector) == {"deploy/ok": 1}
    now[0] += 121
    assert counts(collector) == {"deploy/ok": 1, "deploy/interrupted": 1}


def test_a_first_failure_is_an_increase(host: HostFolder) -> None:
    samples = [one for one in watching(host).read() if one.metric.name == "ddtree_ops_deploys_total"]
    assert {one.labels for one in samples} >= {("deploy", "failed"), ("rollback", "rolled_back")}
    assert not any(one.value for one in samples)


def test_what_the_controller_records_of_smoke_and_gate(host: HostFolder) -> None:
    gate = {"verdict": "passed", "acceptance_length": 3.756, "prompts_equal": 4, "checks": [{"details": ["a user's text"]}]}
    steps = (
        Step("smoke", StepState.OK, 1.0, "'a prompt' -> 'an answer'", {"seconds": [0.065, None]}),
        Step("gate", StepState.OK, 2.0, "a remark", gate),
    )
    record = {**WHO, "event": "deploy", **result_of(DeploymentReport("ct200", Outcome.DEPLOYED, 0, "a", None, "a", 9.0, steps))}
    assert not {"a prompt", "an answer", "a user's text", "a remark"} & set(json.dumps(record).split('"'))
    host.audit(record)
    found = told(watching(host))
    assert (found["smoke_success",], found["smoke_latency_seconds", "1"]) == (1, 0.065)
    assert ("smoke_latency_seconds", "2") not in found
    assert (found["gate_success",], found["gate_acceptance_length_tokens",]) == (1, 3.756)


@pytest.mark.parametrize(
    ("verdict", "told_as"), [("passed", 1), ("refused", 0), ("inconclusive", 0), ("skipped", None), (None, None), ({}, None)]
)
def test_a_gate_that_judged_nothing_says_nothing(host: HostFolder, verdict: object, told_as: int | None) -> None:
    host.audit(deploy(checks={"gate": {"ok": True, "verdict": verdict}, "smoke": {"ok": False}}))
    found = told(watching(host))
    assert found.get(("gate_success",)) == told_as
    assert ("smoke_success",) not in found


def test_odd_values_in_a_record_cost_only_themselves(host: HostFolder) -> None:
    odd = {"smoke": {"ok": True, "seconds": [True, "1", None, -1, 1e300, *[0.1] * 40]}, "gate": []}
    host.audit(deploy({"a": 1}, seconds=float("nan"), checks=odd))  # type: ignore[arg-type]
    found = told(watching(host))
    assert found["deploys_total", "deploy", "failed"] == 1
    assert [key[1] for key in found if key[0] == "smoke_latency_seconds"] == [str(number) for number in range(6, 17)]
