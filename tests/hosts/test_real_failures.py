"""Units that systemd can't run, on a real host, and logins that fail, by the real tools: triage says what they are."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ddtree_ops.report.entries import triage_bytes
from tests.hosts.conftest import Tool
from tests.hosts.lab import Lab

HOST = "ct200"
UNITS = {
    "user": "User=nobody-of-that-name\nExecStart=/usr/bin/true",
    "directory": "WorkingDirectory=/opt/nowhere\nExecStart=/usr/bin/true",
    "program": "ExecStart=/opt/nowhere/bin/python -m server",
    "rights": "ExecStart=/etc/hostname",
    "credential": "LoadCredential=token:/etc/nowhere\nExecStart=/usr/bin/true",
    "slow": "Type=notify\nTimeoutStartSec=2\nExecStart=/usr/bin/sleep 60",
    "restarting": "User=nobody-of-that-name\nRestart=always\nRestartSec=50ms\nExecStart=/usr/bin/true",
    "failing": "ExecStart=/usr/bin/false",
    "killed": "ExecStart=/bin/sh -c 'kill -KILL $$$$'",
}
EXPECTED = {
    "user": "systemd_user_missing",
    "directory": "systemd_workdir",
    "program": "systemd_exec",
    "rights": "systemd_exec",
    "credential": "systemd_exec",
    "slow": "systemd_start_timeout",
    "restarting": "systemd_user_missing",
    "failing": "unknown",
    "killed": "sigkill_unknown",
}
LIMITS = {"restarting": [("consequence", "systemd_start_limit")]}


@pytest.fixture(scope="module")
def broken_units(lab: Lab) -> Lab:
    """All of them written and started; every one has ended when this is ready."""
    for name, lines in UNITS.items():
        text = f"[Unit]\nDescription=Test\nStartLimitIntervalSec=60\nStartLimitBurst=3\n[Service]\n{lines}\n"
        lab.sh(HOST, "tee", f"/etc/systemd/system/broken-{name}.service", stdin=text)
    lab.sh(HOST, "systemctl", "daemon-reload")
    names = " ".join(f"broken-{name}.service" for name in UNITS)
    lab.sh(HOST, "sh", "-c", f"timeout 100 systemctl start --wait {names} || true")
    return lab


@pytest.mark.parametrize("name", ["user", "slow", "restarting"])
def test_a_broken_unit(broken_units: Lab, tool: Tool, name: str) -> None:
    ran = tool("triage", "--host", HOST, "--unit", f"broken-{name}.service", "--since", "-1h", "--format", "json")
    assert ran.code == 4, ran.stderr
    assert [(item["role"], item["kind"]) for item in ran.document["failures"]] == [
        ("root", EXPECTED[name]),
        *LIMITS.get(name, ()),
    ]


@pytest.mark.parametrize("form", ["export", "json", "short", "short-iso", "short-precise", "with-unit"])
def test_every_broken_unit_in_every_form(broken_units: Lab, form: str) -> None:
    journal = ("journalctl", "--no-pager", "--since", "-1h", "-o", form, "--all")
    for name, kind in EXPECTED.items():
        log = broken_units.sh(HOST, *journal, "-u", f"broken-{name}.service").encode()
        report = triage_bytes([log], now_us=time.time_ns() // 1000)
        assert [(item.role, item.kind) for item in report.failures] == [("root", kind), *LIMITS.get(name, ())], (name, log)


@pytest.fixture
def play(lab: Lab, tmp_path: Path) -> Path:
    """A playbook that only wants an answer, and keys that don't fit."""
    (tmp_path / "ping.yml").write_text("- hosts: all\n  gather_facts: false\n  tasks: [{ansible.builtin.ping: }]\n")
    subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other_key"), check=True, timeout=60)
    public = (tmp_path / "other_key.pub").read_text().split()
    (tmp_path / "known_hosts").write_text(f"{lab.hosts()[HOST].address} {public[0]} {public[1]}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "variables", "kind"),
    [
        ("-o IdentityFile={folder}/other_key", {}, "ssh_auth"),
        ("-o UserKnownHostsFile={folder}/known_hosts", {}, "ssh_host_key_changed"),
        ("", {"ansible_python_interpreter": "/usr/bin/python3.99"}, "remote_python_missing"),
    ],
)
def test_a_play_that_fails(lab: Lab, tool: Tool, play: Path, options: str, variables: dict[str, str], kind: str) -> None:
    config = play / "ssh_config"
    lines = (line for line in lab.ssh_config.read_text().splitlines() if not line.strip().startswith("Identity") or not options)
    config.write_text("\n".join(lines))
    arguments = f"{options.format(folder=play)} -F {config} -o ControlMaster=no -o ControlPath=none"
    extra = {"ansible_python_interpreter": "/usr/bin/python3", "ansible_ssh_common_args": arguments, **variables}
    given = [item for name, value in extra.items() for item in ("-e", f'{{"{name}": "{value}"}}')]
    done = subprocess.run(
        (Path(sys.executable).parent / "ansible-playbook", "-i", f"{HOST},", *given, play / "ping.yml"),
        env={**os.environ, "ANSIBLE_HOST_KEY_CHECKING": "true", "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode != 0
    log = play / "play.log"
    log.write_text(done.stdout + done.stderr)
    ran = tool("triage", "--file", str(log), "--format", "json")
    assert [item["kind"] for item in ran.document["failures"]] == [kind], done.stdout + done.stderr
