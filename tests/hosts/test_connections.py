"""SSH connections: which host a kept one belongs to (deploy/ansible.cfg), and how many programs run over one of ours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ddtree_ops.adapters.ssh import SshShell
from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.ports import Command
from tests.hosts.lab import Lab

PROJECT = Path(__file__).resolve().parents[2]
TWIN = "twin"


def test_two_inventories_with_one_host_name_do_not_share_a_connection(lab: Lab, tmp_path: Path) -> None:
    # By default Ansible would run the second command on the first one's host, over the connection that it kept.
    assert [hostname(lab, host, tmp_path) for host in ("ct200", "b300")] == ["ct200", "b300"]


def hostname(lab: Lab, host: str, folder: Path) -> str:
    """What the host answers to its name when an inventory calls it `twin`."""
    config = folder / f"{host}.ssh_config"
    config.write_text(re.sub(rf"^Host {host}$", f"Host {TWIN}", lab.ssh_config.read_text(), flags=re.MULTILINE))
    inventory = folder / f"{host}.yml"
    inventory.write_text(f"all: {{hosts: {{{TWIN}: {{ansible_ssh_common_args: -F {config}}}}}}}\n")
    ansible = Path(sys.executable).parent / "ansible"
    done = subprocess.run(
        (ansible, "-i", inventory, TWIN, "-o", "-m", "ansible.builtin.command", "-a", "hostname"),
        env={**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "deploy" / "ansible.cfg")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("(stdout)")[-1].strip()


def test_an_sshd_that_allows_few_sessions_is_no_lost_host(lab: Lab, lab_inventory: Path) -> None:
    settings = "/etc/ssh/sshd_config.d/00-few.conf"  # the first value counts (sshd_config(5))
    lab.sh("ct200", "sh", "-c", f"echo MaxSessions 3 > {settings}; systemctl reload ssh")
    try:
        with SshShell(load_fleet(lab_inventory).host("ct200")) as shell, shell.stream(("journalctl", "--follow")):
            with ThreadPoolExecutor(12) as threads:
                command = Command(("sh", "-c", "sleep 0.1; echo well"), timeout=60)
                assert {done.stdout for done in threads.map(shell.run, [command] * 36)} == {"well\n"}
            assert shell.transport().is_active()
    finally:
        lab.sh("ct200", "sh", "-c", f"rm {settings}; systemctl reload ssh")
