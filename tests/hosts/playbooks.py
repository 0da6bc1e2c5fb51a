"""Run the playbooks as a person would, against one lab host, with the simulator in place of SGLang."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hosts.lab import Lab

PROJECT = Path(__file__).resolve().parents[2]
PLAYBOOKS = PROJECT / "deploy" / "playbooks"
LOCKS = PROJECT / "deploy" / "locks"
WHEELS = PROJECT / "build" / "wheels"
HOST = "roles"  # a host of our own: other tests' releases stay out of the way
PORT = 30000
SESAME = "sesame-0123456789"
RTX = {
    "count": 8,
    "names": ["NVIDIA RTX PRO 6000 Blackwell Server Edition"],
    "memory_mib": 97887,
    "compute_cap": "12.0",
}


@dataclass(frozen=True)
class Ran:
    """A playbook that ended."""

    code: int
    output: str

    def recap(self, name: str) -> int:
        """A number of the recap line, such as changed=0."""
        match = re.search(rf"^{HOST} .*\b{name}=(\d+)", self.output, re.MULTILINE)
        assert match, self.output
        return int(match[1])


@dataclass(frozen=True)
class Target:
    """A host and how playbooks reach it."""

    lab: Lab
    folder: Path  # holds the inventory hosts.yml

    def play(self, playbook: str, variables: Mapping[str, Any], *flags: str) -> Ran:
        """Run a playbook and wait for it."""
        settings = self.folder / "vars.json"
        settings.write_text(json.dumps(variables))
        program = Path(sys.executable).parent / "ansible-playbook"
        done = subprocess.run(
            (program, "-i", self.folder / "hosts.yml", "-e", f"@{settings}", PLAYBOOKS / playbook, *flags),
            env={**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "deploy" / "ansible.cfg"), "TEST_API_KEY": SESAME},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        print(done.stdout, done.stderr)  # noqa: T201
        return Ran(done.returncode, done.stdout + done.stderr)

    def sh(self, command: str) -> str:
        """Run a shell command on the host; it has to succeed."""
        done = self.lab.ssh(HOST, command)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def releases(self) -> list[str]:
        return self.sh("ls /opt/ddtree/releases 2>/dev/null || true").split()


def wheel(pattern: str) -> dict[str, str]:
    path = next(WHEELS.glob(pattern))
    return {"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def variables(release: str, **changes: Any) -> dict[str, Any]:
    """What deploy.yml wants, for the simulator in place of SGLang."""
    return {
        "release_id": release,
        "release_server": {"schema": "ddtree-ops/server/v1", "release": release, "port": PORT, "argv": []},
        "release_lock": (LOCKS / "lab.txt").read_text(),
        "release_wheels": [wheel("sglang_ddtree-*.whl"), wheel("sglang_simulator-*.whl")],
        "release_manifest": {"id": release},
        "release_credentials": [{"name": "api_key", "value": "{{ lookup('ansible.builtin.env', 'TEST_API_KEY') }}"}],
        "preflight_gpus": RTX,
        "preflight_free_mib": 64,
        "model_paths": ["/srv/models/kimi-k2.6", "/srv/models/kimi-k2.6-dflash"],
        "service_port": PORT,
        "service_drain_s": 60,
        "service_load_budget_s": 1800,
    } | changes


def chosen(release: str) -> dict[str, Any]:
    return {"release_id": release, "service_port": PORT}
