"""Two hosts in one command on real hosts: each its own fate, and nothing left running however the command ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.conftest import Ran, Running, Tool
from tests.hosts.lab import Lab
from tests.hosts.test_first_path import quick, set_serving

BOTH = ("--host", "ct200", "--host", "b300", "--yes")
SECONDS = 60.0


@pytest.fixture
def both(lab: Lab, lab_inventory: Path) -> Path:
    """Quick loads on both, and on both something serves already."""
    for host in ("ct200", "b300"):
        set_serving(lab_inventory, host, environment=quick())
    if any(lab.ssh(host, "test -e /opt/ddtree/current").returncode for host in ("ct200", "b300")):
        assert Tool(lab_inventory)("deploy", *BOTH, "--no-canary").code == 0
    return lab_inventory


def change(inventory: Path, number: int, *hosts: str) -> None:
    """A changed argument on these hosts."""
    for host in hosts:
        set_serving(inventory, host, environment=quick(), server_args={"max-running-requests": number})


def by_host(ran: Ran) -> dict[str, Any]:
    return {report["host"]: report for report in ran.document["hosts"]}


def ansible_of(inventory: Path) -> list[str]:
    """Command lines of Ansible, its workers and its supervisor for this inventory, and of the ssh that they started."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                words = (entry / "cmdline").read_text(errors="replace").split("\0")
            except OSError:
                continue
            if str(inventory) in words or any(word.startswith(str(inventory)) for word in words):
                found.append(" ".join(words))
    return found


def until_ansible_runs(inventory: Path, running: Running) -> None:
    deadline = time.monotonic() + SECONDS
    while not ansible_of(inventory):
        assert running.process.poll() is None, running.end()
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)


def until_none_runs(inventory: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while left := ansible_of(inventory):
        assert time.monotonic() < deadline, left
        threading.Event().wait(0.05)


def test_ctrl_c_ends_the_canary_and_begins_nobody_else(lab: Lab, tool: Tool, both: Path) -> None:
    change(both, 21, "ct200", "b300")
    with tool.start("deploy", *BOTH, "--format", "json") as deploying:
        until_ansible_runs(both, deploying)
        deploying.process.send_signal(signal.SIGINT)
        ran = deploying.end()
    until_none_runs(both)
    assert ran.code == 130
    reports = by_host(ran)
    assert (reports["ct200"]["outcome"], reports["ct200"]["exit_code"]) == ("interrupted", 130)
    assert reports["ct200"]["serving"], "the former release serves, and the report says so"
    assert (reports["b300"]["outcome"], reports["b300"]["reason"]) == ("not_begun", "interrupted")
    again = tool("deploy", *BOTH, "--format", "json")
    assert again.code == 0, again
    assert {report["outcome"] for report in by_host(again).values()} == {"deployed"}


def test_one_host_fails_and_the_other_serves(lab: Lab, tool: Tool, both: Path) -> None:
    change(both, 22, "ct200")
    set_serving(both, "b300", environment=quick(SIM_FAULT="crash:weights"), server_args={"max-running-requests": 22})
    ran = tool("deploy", *BOTH, "--no-canary", "--format", "json")
    reports = by_host(ran)
    assert reports["ct200"]["outcome"] == "deployed"
    assert (reports["b300"]["outcome"], reports["b300"]["failure"]["failures"][0]["phase"]) == ("rolled_back", "weights")
    assert ran.code == 8


def test_a_canary_that_fails_keeps_the_others_as_they_are(lab: Lab, tool: Tool, both: Path) -> None:
    before = lab.sh("ct200", "readlink", "/opt/ddtree/current")
    change(both, 23, "ct200")
    set_serving(both, "b300", environment=quick(SIM_FAULT="crash:weights"), server_args={"max-running-requests": 23})
    ran = tool("deploy", *BOTH, "--canary", "b300", "--format", "json")
    reports = by_host(ran)
    assert reports["b300"]["outcome"] == "rolled_back"
    assert (reports["ct200"]["outcome"], reports["ct200"]["reason"]) == ("not_begun", "the canary b300 did not end well")
    assert ran.code == 8
    assert lab.sh("ct200", "readlink", "/opt/ddtree/current") == before
