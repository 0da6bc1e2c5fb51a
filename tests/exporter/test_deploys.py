"""Attempts counted from the audit log that role service really writes: once each, over rotation, restarts and torn lines."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.audit import files
from ddtree_ops.exporter.audit.counts import AuditCounts
from ddtree_ops.exporter.collectors.deploys import NAME, DeploysCollector
from ddtree_ops.flows.attempt import result_of
from ddtree_ops.ports import Command, Completed
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Step, StepState
from tests.exporter.shells import HostFolder

LOCK = Path(__file__).resolve().parents[2] / "roles/service/module_utils/ddtree_host/lock.py"
WHO = {"user": "anna", "controller": "laptop", "pid": 1, "command": "deploy --host ct200"}
AT = 1_796_032_800.0  # 2026-11-30T10:00:00Z, which HostFolder.audit() writes


@pytest.fixture
def host(tmp_path: Path) -> HostFolder:
    return HostFolder(tmp_path)


@pytest.fixture(scope="module")
def lock() -> ModuleType:
    spec = importlib.util.spec_from_file_location("host_lock", LOCK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(collector: DeploysCollector) -> dict[tuple[str, ...], float]:
    found = {(one.metric.name.removeprefix("ddtree_ops_"), *one.labels): one.value for one in collector.read()}
    return {key: value for key, value in found.items() if value or key[0] != "deploys_total"}


def counts(collector: DeploysCollector) -> dict[str, float]:
    return {"/".join(key[1:]): value for key, value in told(collector).items() if key[0] == "deploys_total"}


def deploy(outcome: str = "deployed", **more: Any) -> dict[str, Any]:
    return {**WHO, "event": "deploy", "outcome": outcome, "seconds": 12.5, **more}


def test_every_attempt_by_its_result(host: HostFolder) -> None:
    host.audit(
        {**WHO, "event": "begun"},
        deploy("rolled_back"),
        deploy("nothing_to_do"),
        {"event": "commit", "release": "x"},
        deploy(),
        deploy("refused"),
        deploy("interrupted"),
        {**WHO, "event": "restart", "outcome": "ready", "seconds": 2},
        {**WHO, "event": "restart", "outcome": "died", "seconds": 2},
        {**WHO, "event": "stop", "outcome": "stopped"},
        {**WHO, "event": "start", "outcome": "stopped"},
        {"event": "dead-man", "release": "b", "back_to": "a"},
        {**WHO, "event": "locked out", "holder": {}},
    )
    assert counts(DeploysCollector(host.target(), None, lambda: AT)) == {
        "deploy/ok": 2,
        "deploy/rolled_back": 1,
        "deploy/refused": 1,
        "deploy/interrupted": 1,
        "restart/ok": 1,
        "restart/failed": 1,
        "stop/ok": 1,
        "start/failed": 1,
        "dead_man/rolled_back": 1,
    }


def test_times(host: HostFolder) -> None:
    host.audit(deploy(), deploy(seconds=20, at="2026-11-30T11:00:00Z"))
    found = told(DeploysCollector(host.target(), None, lambda: AT))
    assert found["deploy_last_duration_seconds", "deploy"] == 20
    assert found["deploy_last_timestamp_seconds", "deploy", "ok"] == AT + 3600


def test_a_first_failure_is_an_increase(host: HostFolder) -> None:
    samples = [one for one in DeploysCollector(host.target(), None).read() if one.metric.name == "ddtree_ops_deploys_total"]
    assert {one.labels for one in samples} >= {("deploy", "failed"), ("rollback", "rolled_back")}
    assert not any(one.value for one in samples)


def report(*steps: Step) -> DeploymentReport:
    return DeploymentReport("ct200", Outcome.DEPLOYED, 0, "a", None, "a", 9.0, steps)


def test_what_the_controller_records_of_smoke_and_gate(host: HostFolder) -> None:
    gate = {"verdict": "passed", "acceptance_length": 3.756, "prompts_equal": 4, "checks": [{"details": ["a user's text"]}]}
    steps = (
        Step("smoke", StepState.OK, 1.0, "'a prompt' -> 'an answer'", {"seconds": [0.065, None]}),
        Step("gate", StepState.OK, 2.0, "a remark", gate),
    )
    record = {**WHO, "event": "deploy", **result_of(report(*steps))}
    assert not {"a prompt", "an answer", "a user's text", "a remark"} & set(json.dumps(record).split('"'))
    host.audit(record)
    found = told(DeploysCollector(host.target(), None, lambda: AT))
    assert (found["smoke_success",], found["smoke_latency_seconds", "1"]) == (1, 0.065)
    assert ("smoke_latency_seconds", "2") not in found
    assert (found["gate_success",], found["gate_acceptance_length_tokens",]) == (1, 3.756)


@pytest.mark.parametrize(
    ("verdict", "told_as"), [("passed", 1), ("refused", 0), ("inconclusive", 0), ("skipped", None), (None, None), ({}, None)]
)
def test_a_gate_that_judged_nothing_says_nothing(host: HostFolder, verdict: object, told_as: int | None) -> None:
    host.audit(deploy(checks={"gate": {"ok": True, "verdict": verdict}, "smoke": {"ok": False}}))
    found = told(DeploysCollector(host.target(), None, lambda: AT))
    assert found.get(("gate_success",)) == told_as
    assert ("smoke_success",) not in found


def test_nothing_counts_twice_over_restarts_and_rotation(
    host: HostFolder, lock: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHUNK", 1000)
    monkeypatch.setattr(lock, "AUDIT_BYTES", 20_000)
    state, log = tmp_path / "state", str(host.state / "audit.jsonl")
    state.mkdir()
    collector = DeploysCollector(host.target(), state, lambda: AT)
    for number in range(1, 201):
        lock.shorten(log)
        lock.audit(log, deploy(steps={"stage": number}))
        if number % 7 == 0:
            assert counts(collector)["deploy/ok"] == number
        if number % 30 == 0:
            collector = DeploysCollector(host.target(), state, lambda: AT)
    assert counts(collector)["deploy/ok"] == 200
    assert counts(DeploysCollector(host.target(), None, lambda: AT))["deploy/ok"] < 200, "the log itself has forgotten some"


def test_two_rotations_while_nobody_looked(host: HostFolder, lock: ModuleType, tmp_path: Path) -> None:
    state, log = tmp_path / "state", host.state / "audit.jsonl"
    state.mkdir()
    host.audit(deploy())
    assert counts(DeploysCollector(host.target(), state, lambda: AT)) == {"deploy/ok": 1}
    kept = log.rename(log.with_name("elsewhere"))
    host.audit(deploy("failed"))
    log.rename(log.with_name("audit.jsonl.1"))
    host.audit(deploy("failed"), deploy("failed"))
    assert kept.exists(), "so that its inode isn't given to another"
    assert counts(DeploysCollector(host.target(), state, lambda: AT)) == {"deploy/ok": 1, "deploy/failed": 3}


def test_a_line_that_is_half_written_waits(host: HostFolder) -> None:
    collector, log = DeploysCollector(host.target(), None, lambda: AT), host.state / "audit.jsonl"
    whole = json.dumps({"at": "2026-11-30T10:00:00Z", **deploy()})
    log.write_text(whole[:50])
    assert counts(collector) == {}
    log.write_text(whole + "\n" + "\x00\xff torn [[[\n" + "[" * 50_000 + "\n")
    assert counts(collector) == {"deploy/ok": 1}
    assert counts(collector) == {"deploy/ok": 1}


def test_a_line_without_end_is_passed_over(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK", 1000)
    monkeypatch.setattr(files, "LONGEST_LINE", 5000)
    (host.state / "audit.jsonl").write_text("x" * 7000 + "\n")
    host.audit(deploy())
    assert counts(DeploysCollector(host.target(), None, lambda: AT)) == {"deploy/ok": 1}


def test_an_attempt_whose_controller_is_gone_for_good(host: HostFolder) -> None:
    host.audit({**WHO, "event": "begun"}, {**WHO, "event": "controller lost", "why": "its connection ended"})
    now = [AT + 60]
    collector = DeploysCollector(host.target(), None, lambda: now[0])
    assert counts(collector) == {}
    now[0] = AT + 121
    assert counts(collector) == {"deploy/interrupted": 1}
    assert counts(collector) == {"deploy/interrupted": 1}


def test_one_that_came_back_has_one_result(host: HostFolder) -> None:
    host.audit({**WHO, "event": "controller lost"}, deploy())
    assert counts(DeploysCollector(host.target(), None, lambda: AT + 500)) == {"deploy/ok": 1}


def test_the_next_command_shows_that_it_does_not_come_back(host: HostFolder) -> None:
    host.audit({**WHO, "event": "controller lost"}, {**WHO, "pid": 2, "event": "begun"})
    assert counts(DeploysCollector(host.target(), None, lambda: AT)) == {"deploy/interrupted": 1}


@pytest.mark.parametrize(
    "record",
    [
        {"event": "deploy"},
        {"event": ["deploy"], "outcome": "deployed"},
        {"event": "deploy", "outcome": "deployed", "at": "soon"},
        {"event": "deploy", "outcome": "deployed", "at": None},
        {"event": "controller lost", "command": {"a": 1}, "at": 5},
    ],
)
def test_records_that_are_none(record: dict[str, Any]) -> None:
    found = AuditCounts()
    found.take({"at": "2026-11-30T10:00:00Z", **record}, AT)
    assert not found.attempts


def test_odd_values_in_a_record_cost_only_themselves(host: HostFolder) -> None:
    odd = {"smoke": {"ok": True, "seconds": [True, "1", None, -1, 1e300, *[0.1] * 40]}, "gate": []}
    host.audit(deploy({"a": 1}, seconds=float("nan"), checks=odd))  # type: ignore[arg-type]
    found = told(DeploysCollector(host.target(), None, lambda: AT))
    assert found["deploys_total", "deploy", "failed"] == 1
    assert [key[1] for key in found if key[0] == "smoke_latency_seconds"] == [str(number) for number in range(6, 17)]


def test_a_log_that_is_not_readable_is_a_failed_reading(host: HostFolder) -> None:
    (host.state / "audit.jsonl").mkdir()
    with pytest.raises(HostCommandFailed):
        DeploysCollector(host.target(), None).read()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"counts": 1, "position": 2}',
        '{"counts": {"x": 1}, "position": {}}',
        '{"counts": {"attempts": 5}, "position": {"inode": 0, "offset": 0}}',
        '{"counts": {"attempts": {"deploy": 1}}, "position": {"inode": 0, "offset": 0}}',
        '{"counts": {"smoke_ok": "x"}, "position": {"inode": 0, "offset": 0}}',
        '{"counts": {}, "position": {"inode": "x", "offset": 0}}',
    ],
)
def test_a_damaged_state_is_counted_anew(host: HostFolder, tmp_path: Path, text: str) -> None:
    host.audit(deploy())
    (tmp_path / NAME).write_text(text)
    assert counts(DeploysCollector(host.target(), tmp_path, lambda: AT)) == {"deploy/ok": 1}


def replaced(log: Path, how: Callable[[str], str] = lambda text: text) -> None:
    """As sed -i, or a restored backup: the same name, another inode."""
    copy = log.with_name("copy")
    copy.write_text(how(log.read_text()))
    copy.replace(log)


def watched(host: HostFolder, tmp_path: Path) -> tuple[DeploysCollector, Path]:
    """Has counted three."""
    (tmp_path / "own").mkdir(exist_ok=True)
    collector = DeploysCollector(host.target(), tmp_path / "own", lambda: AT)
    host.audit(*(deploy(at=f"2026-11-30T09:00:0{number}Z") for number in range(3)))
    assert counts(collector) == {"deploy/ok": 3}
    return collector, host.state / "audit.jsonl"


@pytest.mark.parametrize("restarted", [False, True])
def test_a_file_that_was_replaced_by_its_copy_is_read_on(host: HostFolder, tmp_path: Path, restarted: bool) -> None:
    collector, log = watched(host, tmp_path)
    replaced(log)
    host.audit(deploy("failed"))
    if restarted:
        collector = DeploysCollector(host.target(), tmp_path / "own", lambda: AT)
    assert counts(collector) == counts(collector) == {"deploy/ok": 3, "deploy/failed": 1}


def test_one_whose_last_line_was_edited_has_news_behind_the_one_before(host: HostFolder, tmp_path: Path) -> None:
    collector, log = watched(host, tmp_path)
    replaced(log, lambda text: text[: text.rstrip().rindex("\n") + 1])
    host.audit(deploy("failed"))
    assert counts(collector) == {"deploy/ok": 3, "deploy/failed": 1}


def test_an_old_backup_counts_by_its_time(host: HostFolder, tmp_path: Path) -> None:
    collector, log = watched(host, tmp_path)
    replaced(log, lambda _: json.dumps({"at": "2026-11-29T00:00:00Z", **deploy("refused")}) + "\n")
    assert counts(collector) == {"deploy/ok": 3}
    host.audit(deploy("failed"))
    assert counts(collector) == counts(collector) == {"deploy/ok": 3, "deploy/failed": 1}


def test_one_that_was_written_anew_in_place(host: HostFolder, tmp_path: Path) -> None:
    collector, log = watched(host, tmp_path)
    log.write_text("")
    host.audit(*(deploy("failed", why="x" * 90) for _ in range(3)))
    assert counts(collector) == {"deploy/ok": 3, "deploy/failed": 3}


def test_bytes_that_are_no_ascii_move_nothing(host: HostFolder, tmp_path: Path) -> None:
    collector, log = watched(host, tmp_path)
    with log.open("ab") as file:
        file.write(("ö" * 900 + "\n").encode() + b"\xff\xfe\n")
    for number in range(1, 4):
        host.audit(deploy("failed", why=number))
        assert counts(collector) == {"deploy/ok": 3, "deploy/failed": number}


def test_a_log_that_begins_anew_between_look_and_reading(
    host: HostFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector, log = watched(host, tmp_path)
    host.audit(deploy("failed"))
    run, moved = host.shell.run, list[Path]()

    def rotating(command: Command) -> Completed:
        if command.argv[0] == "dd" and not moved:
            moved.append(log.rename(log.with_name("audit.jsonl.1")))
            host.audit(*(deploy("refused", why="y" * 400) for _ in range(5)))
        return run(command)

    monkeypatch.setattr(host.shell, "run", rotating)
    assert counts(collector) == {"deploy/ok": 3, "deploy/failed": 1, "deploy/refused": 5}
    assert moved


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:09Z", "9999-12-31T23:59:59Z"])
def test_a_clock_that_was_wrong_gives_a_count_without_a_time(host: HostFolder, at: str) -> None:
    host.audit(deploy(at=at), {**WHO, "event": "controller lost", "at": at})
    now = [AT]
    collector = DeploysCollector(host.target(), None, lambda: now[0])
    assert ("deploy_last_timestamp_seconds", "deploy", "ok") not in told(collector)
    assert counts(collector) == {"deploy/ok": 1}
    now[0] += 121
    assert counts(collector) == {"deploy/ok": 1, "deploy/interrupted": 1}


def test_a_directory_that_is_closed_to_us_is_a_failed_reading(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    run = host.shell.run

    def denied(command: Command) -> Completed:
        return Completed(command, 1, "", "stat: cannot statx '/var/lib/ddtree/audit.jsonl': Permission denied\n", 0.0)

    monkeypatch.setattr(host.shell, "run", lambda command: denied(command) if "stat" in command.argv else run(command))
    with pytest.raises(HostCommandFailed, match="Permission denied"):
        DeploysCollector(host.target(), None).read()
