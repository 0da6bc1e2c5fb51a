"""Triage of real crashes on a real host: followed live, kept over a restart, with the installed code beside it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.hosts.conftest import Tool
from tests.hosts.lab import Lab, wait_for
from tests.hosts.test_first_path import quick, set_serving

UNIT = "ddtree-server@30000.service"
# The next try comes long after the tests have looked, however slow this machine is.
WAITS = f"/run/systemd/system/{UNIT}.d"
RAISING = "sglang/srt/model_executor/cuda_graph_buffer_registry.py"


@pytest.fixture
def b300(lab_inventory: Path) -> Path:
    set_serving(lab_inventory, "b300", environment=quick(SIM_CRASH_SETTLE_SECONDS="5"))
    return lab_inventory


@pytest.fixture(scope="module")
def begun() -> str:
    """Before that, this host may have crashed in other tests; as journalctl takes it."""
    return f"@{time.time():.0f}"


@pytest.mark.usefixtures("begun")
def test_a_crash_is_told_while_it_happens(lab: Lab, tool: Tool, b300: Path) -> None:
    """Deploys first: what follows needs a server that serves."""
    assert tool("deploy", "--host", "b300").code == 0
    lab.sh("b300", "mkdir", "-p", WAITS)
    lab.sh("b300", "tee", f"{WAITS}/waits.conf", stdin="[Service]\nRestartSec=600\n")
    lab.sh("b300", "systemctl", "daemon-reload")
    lab.simulator("b300", SIM_FAULT="graph_width:request")
    since = f"@{int(time.time())}"
    with tool.start("triage", "--host", "b300", "--follow", "--since", since, "--format", "json") as following:
        lab.sh("b300", "systemctl", "restart", "--no-block", UNIT)
        told = following.end()
    lab.simulator("b300")
    assert told.code == 4
    assert told.stdout.count("\n") == 1
    root = told.document["failures"][0]
    assert (root["kind"], root["role"]) == ("graph_token_count_mismatch", "root")


def test_the_crash_is_told_while_systemd_waits_for_the_next_try(lab: Lab, tool: Tool, b300: Path) -> None:
    """Then systemd says that the unit began when the failed run ended."""
    state = ("systemctl", "show", UNIT, "--property=SubState", "--value")
    wait_for("the time before the next try", lambda: lab.sh("b300", *state).strip() == "auto-restart", 120)
    told = tool("triage", "--host", "b300", "--format", "json")
    lab.sh("b300", "sh", "-c", f"rm -r {WAITS}; systemctl daemon-reload")
    assert told.code == 4
    root = told.document["failures"][0]
    assert (root["kind"], root["count"], len(root["exceptions"])) == ("graph_token_count_mismatch", 8, 1)


def test_the_crash_is_kept_over_the_restart_and_found_again(lab: Lab, tool: Tool, b300: Path) -> None:
    assert tool("restart", "--host", "b300").code == 0
    now = tool("triage", "--host", "b300", "--format", "json")
    assert now.code == 0
    assert any(event["kind"] == "earlier_crashes" for event in now.document["events"])
    crashes = tool("triage", "--list", "--host", "b300", "--format", "json").document["crashes"]
    assert crashes[-1]["kind"] == "graph_token_count_mismatch"
    again = tool("triage", "--host", "b300", "--invocation", crashes[-1]["invocation"][:10], "--format", "json")
    assert (again.code, again.document["failures"][0]["fingerprint"]) == (4, crashes[-1]["fingerprint"])
    assert again.document["failures"][0]["count"] == 8
    assert "--invocation" in tool("triage", "--list", "--host", "b300").stdout


def test_the_code_is_shown_as_installed_and_a_changed_file_is_told(lab: Lab, tool: Tool, b300: Path, tmp_path: Path) -> None:
    invocation = tool("triage", "--list", "--host", "b300", "--format", "json").document["crashes"][-1]["invocation"]
    asked = ("triage", "--host", "b300", "--invocation", invocation, "--format", "json")
    first = tool(*asked).document
    frame = first["failures"][0]["exceptions"][-1]["frames"][-1]
    assert any(line.startswith(">") and frame["code"].strip() in line for line in frame["source"])
    assert not [event for event in first["events"] if event["kind"] == "source_differs"]
    lab.sh("b300", "sh", "-c", f"sed -i '$ a # edited' /opt/ddtree/current/venv/lib/python3*/site-packages/{RAISING}")
    changed = [event["text"] for event in tool(*asked).document["events"] if event["kind"] == "source_differs"]
    assert RAISING in changed[0]
    lab.sh("b300", "sh", "-c", f"sed -i '$d' /opt/ddtree/current/venv/lib/python3*/site-packages/{RAISING}")

    report = tmp_path / "a.json"
    report.write_text(json.dumps(first))
    assert tool("triage", "--compare", str(report), str(report)).code == 0


def test_the_line_of_the_root_is_marked_in_the_log(lab: Lab, tool: Tool, b300: Path, begun: str) -> None:
    logs = tool("logs", "--host", "b300", "--since", begun, "-n", "3000").stdout.splitlines()
    marked = [line for line in logs if line.startswith(">")]
    assert len(marked) == 2
    assert "The size of tensor a" in marked[0]
    assert "graph_token_count_mismatch" in marked[1]
