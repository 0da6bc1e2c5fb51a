"""The lock, the audit logs, pruning and a change of port on a real host, in file order; faults are in tests/faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.conftest import Tool
from tests.hosts.lab import Lab
from tests.hosts.test_first_path import current, deployment, quick, set_serving

HOST = "b300"
GATELESS = {"enabled": False}


def serve(inventory: Path, requests: int, **more: Any) -> None:
    settings = {
        "server_args": {"max-running-requests": requests},
        "environment": quick(),
        "gate": GATELESS,
        "runtime": {"keep": 1},
    }
    set_serving(inventory, HOST, **(settings | more))


@pytest.fixture
def b300(lab_inventory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return lab_inventory


def test_a_second_controller_is_kept_out_and_told_by_whom(lab: Lab, tool: Tool, b300: Path) -> None:
    serve(b300, 1, environment=quick(SIM_LOAD_SECONDS="5"))
    with tool.start("deploy", "--host", HOST, "--yes") as first:
        first.until("elapsed")
        with lab.standing_still(HOST, "ddtree-server@30000.service"):
            for command in ("deploy", "rollback"):
                ran = tool(command, "--host", HOST, *(("--yes",) if command == "deploy" else ()))
                assert ran.code == 9
                assert f"(pid {first.process.pid})" in ran.stdout + ran.stderr
                assert "--break-lock" in ran.stdout + ran.stderr
        assert first.end().code == 0
    assert tool("deploy", "--host", HOST).code == 0, "free again"


def test_both_sides_keep_a_record(lab: Lab, tool: Tool, b300: Path, tmp_path: Path) -> None:
    serve(b300, 2)
    assert tool("deploy", "--host", HOST, "--yes").code == 0
    there = json.loads(lab.sh(HOST, "tail", "-n", "1", "/var/lib/ddtree/audit.jsonl"))
    here = json.loads((tmp_path / "state/ddtree-ops/audit.jsonl").read_text().splitlines()[-1])
    for record in (there, here):
        assert (record["event"], record["outcome"], record["command"]) == ("deploy", "deployed", f"deploy --host {HOST} --yes")
        assert ["argument --max-running-requests", "1", "2"] in record["plan"]
        assert record["steps"]["restart"] >= 0
    assert (tmp_path / "state/ddtree-ops/audit.jsonl").stat().st_mode & 0o077 == 0


def test_old_releases_go_at_the_commit(lab: Lab, tool: Tool, b300: Path) -> None:
    before = lab.sh(HOST, "ls", "/opt/ddtree/releases").split()
    serve(b300, 3)
    assert tool("deploy", "--host", HOST, "--yes").code == 0
    after = lab.sh(HOST, "ls", "/opt/ddtree/releases").split()
    assert len(before) == 2
    assert len(after) == 2, "the one that serves, which is the last good one, and one more"
    assert set(after) & set(before), "the one that was good before stays"


def test_another_port_leaves_nothing_of_the_old_one(lab: Lab, tool: Tool, b300: Path) -> None:
    serve(b300, 3, port=31000)
    ran = tool("deploy", "--host", HOST, "--yes", "--format", "json")
    assert (ran.code, deployment(ran)["outcome"]) == (0, "deployed")
    left = lab.sh(HOST, "find", "/etc/systemd/system", "-name", "ddtree-server@*.service").split()
    assert {path.rsplit("/", 1)[1] for path in left} == {"ddtree-server@31000.service"}
    assert tool("plan", "--host", HOST).code == 0


def test_a_rollback_to_the_other_port_and_back_by_hand(lab: Lab, tool: Tool, b300: Path) -> None:
    serve(b300, 3, port=31000)
    newest = current(lab, HOST)
    assert tool("rollback", "--host", HOST).code == 0
    assert current(lab, HOST) != newest
    assert lab.ssh(HOST, "test -e /var/lib/ddtree/deadman.json").returncode == 1
