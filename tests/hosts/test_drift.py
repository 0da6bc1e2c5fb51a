"""Drift on a real host: what was changed by hand is seen by name, put right by a deploy, and then nothing is left to do.

The tests build on each other in file order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hosts.conftest import Tool
from tests.hosts.lab import Lab

HOST = "b300"
UNIT = "ddtree-server@30000.service"
SITE_PACKAGES = "/opt/ddtree/current/venv/lib/python3.11/site-packages"


@pytest.fixture
def inventory(lab_inventory: Path) -> Path:
    quick = {"SIM_LOAD_SECONDS": "1.5"}
    (lab_inventory / "host_vars" / f"{HOST}.yml").write_text(yaml.safe_dump({"ddtree_serving": {"environment": quick}}))
    return lab_inventory


def changes(tool: Tool) -> dict[str, str | None]:
    """What `plan` would change, by name, and what it is now."""
    ran = tool("plan", "--host", HOST, "--format", "json")
    (plan,) = ran.document["hosts"]
    assert ran.code == (6 if plan["changes"] else 0)
    return {change["what"]: change["before"] for change in plan["changes"]}


def deploy(tool: Tool) -> Any:
    ran = tool("deploy", "--host", HOST, "--format", "json")
    assert ran.code == 0
    (report,) = ran.document["hosts"]
    return report


def invocation(lab: Lab) -> str:
    return lab.sh(HOST, "systemctl", "show", UNIT, "--property=InvocationID")


def test_a_look_at_an_untouched_host_finds_nothing(lab: Lab, tool: Tool, inventory: Path) -> None:
    deploy(tool)
    assert changes(tool) == {}
    before = invocation(lab)
    assert deploy(tool)["outcome"] == "nothing_to_do"
    assert invocation(lab) == before


def test_a_no_op_is_one_login(lab: Lab, tool: Tool, inventory: Path) -> None:
    def logins() -> int:
        return lab.sh(HOST, "sh", "-c", "journalctl --sync; journalctl -u ssh -o cat").count("Accepted publickey")

    before = logins()
    assert deploy(tool)["outcome"] == "nothing_to_do"
    assert logins() - before == 1


def test_changed_files_are_named_and_staged_anew(lab: Lab, tool: Tool, inventory: Path) -> None:
    damage = f"cd {SITE_PACKAGES} && sed -i '1i # by hand' sglang/__init__.py && rm prometheus_client/asgi.py && touch odd.pth"
    assert lab.ssh(HOST, damage).returncode == 0
    site = SITE_PACKAGES.removeprefix("/opt/ddtree/current/")
    expected = {
        f"file {site}/sglang/__init__.py": "changed",
        f"file {site}/prometheus_client/asgi.py": "missing",
        f"file {site}/odd.pth": "added",
    }
    assert changes(tool) == expected
    status = tool("status", "--host", HOST, "--verify")
    assert all(name in status.stdout for name in ("sglang/__init__.py: changed", "asgi.py: missing"))
    before = invocation(lab)
    assert deploy(tool)["outcome"] == "deployed"
    assert changes(tool) == {}
    assert invocation(lab) != before
    assert "drift" not in tool("status", "--host", HOST, "--verify").stdout


def test_a_drop_in_is_seen_before_systemd_reads_it_and_removed(lab: Lab, tool: Tool, inventory: Path) -> None:
    path = f"/etc/systemd/system/{UNIT}.d/override.conf"
    assert lab.ssh(HOST, f"mkdir -p {path.rpartition('/')[0]} && printf '[Service]\\nNice=5\\n' > {path}").returncode == 0
    assert f"drop-in {path}" in changes(tool)
    lab.sh(HOST, "systemctl", "daemon-reload")
    assert changes(tool) == {f"drop-in {path}": "changes the unit"}
    deploy(tool)
    assert changes(tool) == {}
    assert lab.ssh(HOST, f"test -e {path}").returncode == 1
    assert lab.sh(HOST, "systemctl", "show", UNIT, "--property=Nice", "--value").strip() == "0"


def test_a_server_that_was_started_with_other_arguments(lab: Lab, tool: Tool, inventory: Path) -> None:
    """Somebody edited the unit, restarted it, and put the text back: only the process tells."""
    unit = f"/etc/systemd/system/{UNIT}"
    edited = f"cp {unit} /tmp/unit && sed -i 's/^ExecStart=.*/& --release \\/opt\\/ddtree\\/current/' {unit}"
    assert lab.ssh(HOST, f"{edited} && systemctl daemon-reload && systemctl restart {UNIT}").returncode == 0
    assert "unit file" in changes(tool)
    assert lab.ssh(HOST, f"cp /tmp/unit {unit} && systemctl daemon-reload").returncode == 0
    assert set(changes(tool)) == {"running arguments"}
    deploy(tool)
    assert changes(tool) == {}


def test_a_release_without_its_manifest_is_staged_anew(lab: Lab, tool: Tool, inventory: Path) -> None:
    lab.sh(HOST, "rm", "/opt/ddtree/current/manifest.json")
    assert changes(tool) == {"manifest.json": "missing or damaged"}
    deploy(tool)
    assert changes(tool) == {}
