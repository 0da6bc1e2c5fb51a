"""Ansible through ansible-runner: one playbook, one host, live task results.

Traps (ansible-runner 2.4.3): an event handler that returns None loses the events; `extravars` are written in clear into
the private directory (so ours is temporary and gets no secret); so is the whole environment, which may hold secrets, in a
file `command` (removed as soon as the playbook runs); the status is a bare string.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ddtree_ops import assets
from ddtree_ops.adapters.task_events import TaskEvents
from ddtree_ops.errors import DdtreeOpsError, PlaybookFailed, Unreachable
from ddtree_ops.ports import PlaybookResult, TaskResult, TaskState

# Staging downloads several GB from the host's index at worst; everything else takes seconds.
TIMEOUT_SECONDS = 3600
# How often ansible-runner looks at its cancel callback, seconds.
CANCEL_POLL = 1


class AnsiblePlaybooks:
    """Runs the project's playbooks with the project's ansible.cfg against one inventory."""

    def __init__(self, inventory: Path) -> None:
        self._inventory = inventory.resolve()

    def run(
        self, playbook: str, host: str, variables: Mapping[str, Any], on_task: Callable[[TaskResult], None]
    ) -> PlaybookResult:
        events = TaskEvents(on_task)
        start = time.monotonic()
        try:
            status, code, output = self._play(assets.playbook(playbook), host, variables, events)
        except OSError as error:  # a full or cleaned temporary directory, no process to be had
            raise PlaybookFailed(f"{host}: playbook {playbook} can't be run here: {error}", hint="look at TMPDIR") from error
        result = PlaybookResult(playbook, events.finished, time.monotonic() - start)
        if status == "timeout":
            raise PlaybookFailed(f"{host}: {events.running or playbook}: no end after {TIMEOUT_SECONDS} s", evidence=output)
        if code != 0:
            raise _failure(playbook, host, result, output)
        return result

    def _play(self, path: Path, host: str, variables: Mapping[str, Any], events: TaskEvents) -> tuple[str, int, tuple[str, ...]]:
        """ansible-runner's status, Ansible's exit code, the end of its output."""
        import ansible_runner

        with tempfile.TemporaryDirectory(prefix="ddtree-ops-") as private, _interruptible() as interrupted:
            runner = ansible_runner.run(
                private_data_dir=private,
                playbook=str(path),
                inventory=str(self._inventory),
                limit=host,
                extravars=dict(variables),
                envvars=_environment(),
                event_handler=events.handle,
                status_handler=lambda status, runner_config: _forget_environment(status, runner_config.artifact_dir),
                cancel_callback=interrupted.is_set,
                timeout=TIMEOUT_SECONDS,
                settings={"pexpect_timeout": CANCEL_POLL},
                quiet=True,
            )
            if interrupted.is_set():
                raise KeyboardInterrupt
            return str(runner.status), int(runner.rc), _tail(runner)


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


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM must end the playbook first: an exception in the middle would leave it running alone."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: interrupted.set()) for number in numbers]
    try:
        yield interrupted
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _tail(runner: Any) -> tuple[str, ...]:
    try:
        with runner.stdout as stream:
            return tuple(line.rstrip() for line in stream.readlines()[-15:])
    except (OSError, _runner_exception()):
        return ()


def _runner_exception() -> type[Exception]:
    """The exception with which ansible-runner says that there is no output file."""
    from ansible_runner.exceptions import AnsibleRunnerException

    return AnsibleRunnerException  # type: ignore[no-any-return]


def _failure(playbook: str, host: str, result: PlaybookResult, output: tuple[str, ...]) -> DdtreeOpsError:
    failed = [task for task in result.tasks if task.state in (TaskState.FAILED, TaskState.UNREACHABLE)]
    if not failed:
        return PlaybookFailed(f"{host}: playbook {playbook} did not run", evidence=output)
    task = failed[-1]
    first, _, rest = task.message.partition("\n")
    if task.state is TaskState.UNREACHABLE:
        return Unreachable(f"{host}: Ansible can't reach the host: {first}")
    where = f"{task.role} : {task.task}" if task.role else task.task
    return PlaybookFailed(f"{host}: {where}: {first}", evidence=tuple(rest.splitlines()[-20:]))
