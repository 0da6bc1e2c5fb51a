"""One ansible-playbook process through ansible-runner, under our supervisor.

Traps (ansible-runner 2.4.3): an event handler that returns None loses the events; `extravars` are written in clear into
the private directory (so ours is temporary and gets no secret); so is the whole environment, which may hold secrets, in a
file `command` (removed as soon as the playbook runs); the status is a bare string; a program that it ends itself dies by SIGKILL
with all its children alive (so we end it); it has its programs ignore the hang-up of their terminal.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddtree_ops import assets

# Started as a script, never imported here: it has to start in milliseconds, and so have we.
SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
# Staging downloads several GB from the host's index at worst; everything else takes seconds.
TIMEOUT_SECONDS = 3600.0
# How often ansible-runner looks at its cancel callback, seconds.
POLL_SECONDS = 0.25


@dataclass(frozen=True)
class AnsibleRun:
    """What to run: the playbook's path, the hosts of the inventory, extra variables (no secrets), Ansible's processes."""

    playbook: Path
    inventory: Path
    hosts: tuple[str, ...]
    variables: Mapping[str, Any]
    workers: int


@dataclass(frozen=True)
class Ended:
    """How it ended: the end of its output; `timed_out` after TIMEOUT_SECONDS."""

    timed_out: bool
    output: tuple[str, ...]


def play(run: AnsibleRun, on_event: Callable[[dict[str, Any]], bool], interrupted: threading.Event) -> Ended:
    """Run it, with each event handed over as it comes. Raises OSError, and KeyboardInterrupt if `interrupted` was set."""
    from ansible_runner.interface import init_runner

    with tempfile.TemporaryDirectory(prefix="ddtree-ops-") as private:
        ending = _Ending(Path(private, "supervisor.pid"), interrupted)
        runner = init_runner(
            private_data_dir=private,
            playbook=str(run.playbook),
            inventory=str(run.inventory),
            limit=",".join(run.hosts),
            extravars=dict(run.variables),
            envvars=_environment(),
            forks=run.workers,
            event_handler=on_event,
            status_handler=lambda status, runner_config: _forget_environment(status, runner_config.artifact_dir),
            cancel_callback=ending.look,
            settings={"pexpect_timeout": POLL_SECONDS},
            quiet=True,
        )
        runner.config.command = _supervised(ending.pid_file, runner.config.command)
        runner.run()
        if interrupted.is_set():
            raise KeyboardInterrupt
        return Ended(ending.timed_out, _tail(runner))


class _Ending:
    """ansible-runner's cancel callback; it asks our supervisor to end everything and never lets ansible-runner do it."""

    def __init__(self, pid_file: Path, interrupted: threading.Event) -> None:
        self.pid_file = pid_file
        self.timed_out = False
        self._interrupted = interrupted
        self._deadline = time.monotonic() + TIMEOUT_SECONDS
        self._asked = False

    def look(self) -> bool:
        """False: go on."""
        self.timed_out = self.timed_out or time.monotonic() > self._deadline
        if (self.timed_out or self._interrupted.is_set()) and not self._asked:
            # It is not yet there in the first moments; a later look finds it.
            with suppress(OSError, ValueError):
                os.kill(int(self.pid_file.read_text()), signal.SIGTERM)
                self._asked = True
        return False


def _supervised(pid_file: Path, command: list[str]) -> list[str]:
    return [sys.executable, "-I", "-S", SUPERVISOR, str(pid_file), str(os.getpid()), *command]


def _forget_environment(status: Mapping[str, Any], artifacts: str) -> None:
    if status.get("status") == "running":
        Path(artifacts, "command").unlink(missing_ok=True)


def _environment() -> dict[str, str]:
    scripts = str(Path(sys.executable).parent)
    return {
        "ANSIBLE_CONFIG": str(assets.root() / "deploy" / "ansible.cfg"),
        # The environment would win over our ansible.cfg; host keys are checked whatever it says.
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_SSH_HOST_KEY_CHECKING": "True",
        "LC_ALL": "C.UTF-8",  # Ansible refuses to run in another encoding
        "PATH": os.pathsep.join((scripts, os.environ.get("PATH", os.defpath))),
    }


def _tail(runner: Any) -> tuple[str, ...]:
    from ansible_runner.exceptions import AnsibleRunnerException

    try:
        with runner.stdout as stream:
            return tuple(line.rstrip() for line in stream.readlines()[-15:])
    except (OSError, AnsibleRunnerException):  # there is no output file
        return ()
