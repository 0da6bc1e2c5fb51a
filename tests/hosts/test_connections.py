"""deploy/ansible.cfg: which host a kept SSH connection belongs to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("(stdout)")[-1].strip()
