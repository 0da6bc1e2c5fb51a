"""The doctor's checks: each says where, what, whether it is well, what was found, and the fix."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ddtree_ops import assets
from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.ports import Command, Shell

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host

# Type=notify with EXTEND_TIMEOUT_USEC needs 236, `systemctl --timestamp=unix` 247; Debian 12 has 252.
SYSTEMD_FLOOR = 247
# What our commands call on a host.
PROGRAMS = ("systemctl", "journalctl", "find", "cat", "ss", "runuser", "nvidia-smi")


@dataclass(frozen=True)
class Check:
    """One line of the doctor."""

    where: str
    what: str
    ok: bool
    found: str
    fix: str | None = None


def controller() -> Iterator[Check]:
    """This machine: Ansible, OpenSSH, the built wheels."""
    here = "controller"
    yield Check(here, "python", sys.version_info >= (3, 11), sys.version.split()[0], "use Python 3.11 or later")
    ansible = shutil.which("ansible-playbook", path=str(Path(sys.executable).parent)) or shutil.which("ansible-playbook")
    yield Check(here, "ansible", ansible is not None, ansible or "no ansible-playbook", "install ddtree-ops again")
    ssh = shutil.which("ssh")
    yield Check(here, "openssh", ssh is not None, ssh or "no ssh program (Ansible uses it)", "apt install openssh-client")
    wheels = sorted(path.name for path in assets.wheels().glob("sglang_ddtree-*.whl"))
    yield Check(here, "plugin wheel", bool(wheels), ", ".join(wheels) or f"none in {assets.wheels()}", "make wheels")


def host(host: Host) -> Iterator[Check]:
    """The way to a host and what our commands need there."""
    from ddtree_ops.cli import targets

    try:
        with targets.server(host) as server:
            yield from _on_host(server.shell, str(host.serving.runtime.python))
    except DdtreeOpsError as error:
        yield Check(host.name, "connection", False, error.message, error.hint)


def _on_host(shell: Shell, python: str) -> Iterator[Check]:
    user = shell.run(Command(("id", "-un"))).stdout.strip()
    yield Check(shell.host, "login", user == "root", user, "log in as root, or set ansible_become: true")
    version = shell.run(Command(("systemctl", "--version"))).stdout.split()
    number = int(version[1]) if len(version) > 1 and version[1].isdigit() else 0
    yield Check(shell.host, "systemd", number >= SYSTEMD_FLOOR, str(number), f"systemd {SYSTEMD_FLOOR} or later")
    done = shell.run(Command((python, "--version"), ok=frozenset({0, 126, 127})))
    yield Check(shell.host, "python", done.exit_code == 0, (done.stdout or done.stderr).strip(), f"install {python}")
    missing = [name for name in PROGRAMS if shell.run(Command(("which", name), ok=frozenset({0, 1}))).exit_code]
    yield Check(shell.host, "programs", not missing, f"missing: {', '.join(missing)}" if missing else "all there")
