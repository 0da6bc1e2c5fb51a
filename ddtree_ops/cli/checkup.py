"""The doctor's checks: each says where, what, whether it is well, what was found, and the fix."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ddtree_ops import assets
from ddtree_ops.errors import DdtreeOpsError, Unreachable
from ddtree_ops.ports import Command, Shell

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host
    from ddtree_ops.fleet.release import Release

# What our commands call on a host, besides what preflight looks at.
PROGRAMS = ("journalctl", "find", "cat", "timeout", "runuser")


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
    """The way to a host, what our commands need there, and what would stop a deploy."""
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.inputs import release_of

    try:
        with targets.server(host) as server:
            yield from _on_host(server.shell)
            yield from _preflight(server.shell, release_of(host))
    except Unreachable as error:
        yield Check(host.name, "connection", False, error.message, error.hint)
    except DdtreeOpsError as error:
        yield Check(host.name, "host", False, error.message, error.hint)


def _on_host(shell: Shell) -> Iterator[Check]:
    user = shell.run(Command(("id", "-un"))).stdout.strip()
    yield Check(shell.host, "login", user == "root", user, "log in as root, or set ansible_become: true")
    missing = [name for name in PROGRAMS if shell.run(Command(("which", name), ok=frozenset({0, 1}))).exit_code]
    yield Check(shell.host, "programs", not missing, f"missing: {', '.join(missing)}" if missing else "all there")


def _preflight(shell: Shell, release: Release) -> Iterator[Check]:
    from ddtree_ops.fleet.finding import Severity
    from ddtree_ops.flows.look import look_and_find

    findings = [one for one in look_and_find(shell, release).findings if one.severity is not Severity.NOTE]
    for one in findings:
        refuses = one.severity is Severity.ERROR
        yield Check(shell.host, one.id, not refuses, one.message if refuses else f"warning: {one.message}", one.fix)
    if not findings:
        yield Check(shell.host, "preflight", True, "GPUs, Python, disk, systemd, port, clock and model files are fit")
