"""`plan` reads and changes nothing; its findings refuse a deploy, unless the spec waives them, for as long as it does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.conftest import Tool
from tests.hosts.lab import Lab
from tests.hosts.test_first_path import quick, set_serving

HOST = "ct200"
ROOM = {"free_mib": 10**8}  # more than this machine has
# Everything that a deploy would touch, by content, owner, mode and times (but for the time of access), and every unit.
FINGERPRINT = """
find /etc /opt /var/lib/ddtree /var/cache/ddtree -printf '%p %y %m %U %G %s %T@ %C@ %l\\n' 2>/dev/null | sort
find /etc /opt /var/lib/ddtree -type f -print0 2>/dev/null | sort -z | xargs -0 sha256sum | sha256sum
systemctl list-unit-files --no-legend --no-pager | grep -v '^session-'
systemctl show 'ddtree-*' --no-pager -p Id,ActiveState,SubState,InvocationID,MainPID,NRestarts,UnitFileState,NeedDaemonReload
"""


def fingerprint(lab: Lab, host: str) -> list[str]:
    return lab.sh(host, "sh", "-c", FINGERPRINT).splitlines()


def serving(inventory: Path, requests: int, **sections: Any) -> None:
    set_serving(inventory, HOST, environment=quick(), server_args={"max-running-requests": requests}, **sections)


@pytest.fixture
def gpus_well(lab: Lab) -> Any:
    yield
    lab.gpu_state(HOST, None)


def test_a_finding_refuses_until_it_is_waived_and_again_when_that_ends(lab: Lab, tool: Tool, lab_inventory: Path) -> None:
    serving(lab_inventory, 5, runtime=ROOM)
    assert tool("plan", "--host", HOST).code == 7
    ran = tool("deploy", "--host", HOST, "--format", "json")
    (report,) = ran.document["hosts"]
    assert (ran.code, report["outcome"]) == (7, "refused")
    assert "[disk]" in report["error"]

    reason = "a lab host; see issue 6"
    serving(lab_inventory, 5, runtime=ROOM, waivers={"disk": {"reason": reason, "until": "2999-12-31"}})
    plan = tool("plan", "--host", HOST)
    assert (plan.code, reason in plan.stdout) == (6, True)
    ran = tool("deploy", "--host", HOST, "--format", "json")
    (report,) = ran.document["hosts"]
    used = {"finding": "disk", "reason": reason, "until": "2999-12-31"}
    assert (ran.code, used in report["waivers"]) == (0, True)
    audit = [json.loads(line) for line in lab.sh(HOST, "cat", "/var/lib/ddtree/audit.jsonl").splitlines()]
    assert used in audit[-1]["waivers"]

    serving(lab_inventory, 6, runtime=ROOM, waivers={"disk": {"reason": reason, "until": "2020-01-31"}})
    ran = tool("deploy", "--host", HOST)
    assert ran.code == 7
    assert f"its waiver expired on 2020-01-31: {reason}" in ran.stdout


def test_plan_changes_nothing_whatever_it_finds(lab: Lab, tool: Tool, lab_inventory: Path, gpus_well: None) -> None:
    """Text and JSON, with and without something to do, refused, with a host that can't be reached, with a driver that is gone."""
    serving(lab_inventory, 7)
    (lab_inventory / "host_vars" / "b300.yml").write_text("ansible_port: 1\n")
    before = fingerprint(lab, HOST)
    assert len(before) > 500
    assert tool("plan", "--host", HOST, "--verbose").code == 6
    assert tool("plan", "--host", HOST, "--probe", "--format", "json").code == 6
    assert tool("plan", "--group", "all").code == 3
    lab.gpu_state(HOST, {"gpus": {"3": {"state": "lost"}}})
    ran = tool("plan", "--host", HOST, "--format", "json")
    (row,) = ran.document["hosts"]
    refusing = [one for one in row["findings"] if one["severity"] == "error"]
    assert (ran.code, "gpus" in {one["id"] for one in refusing}) == (7, True)
    assert all(one["evidence"] for one in refusing if one["id"] == "gpus")
    lab.gpu_state(HOST, {"driver": "not_loaded"})
    assert tool("plan", "--host", HOST).code == 7
    assert fingerprint(lab, HOST) == before
