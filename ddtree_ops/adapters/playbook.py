"""Ansible: the project's playbooks, one run for all hosts that need the same one at the same moment."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddtree_ops import assets
from ddtree_ops.adapters.ansible_run import TIMEOUT_SECONDS, AnsibleRun, Ended, play
from ddtree_ops.adapters.joining import Joiner
from ddtree_ops.adapters.per_host import extra_variables
from ddtree_ops.adapters.task_events import RunEvents, TaskEvents
from ddtree_ops.errors import DdtreeOpsError, Locked, PlaybookFailed, Unreachable
from ddtree_ops.ports import TaskResult, TaskState

# A worker of Ansible is a process of 10 to 25 MB of its own that computes most of its time: more of them than the cores can
# serve only cost memory. On 2 cores 4 of them, 30 hosts' ssh and ourselves stay below 300 MB together.
WORKERS = 2 * len(os.sched_getaffinity(0))


# How the modules that change a host refuse whoever doesn't hold it (role service: fence.py).
_LOCK_LOST = ("this host's lock was lost: ", "this host is locked: ")


class _Call:
    """One host's part of a run: what it asks for, and how that ended."""

    def __init__(self, host: str, variables: Mapping[str, Any], on_task: Callable[[TaskResult], None]) -> None:
        self.host = host
        self.variables = variables
        self.events = TaskEvents(self._tell)
        self.well = False
        self.ended = Ended(timed_out=False, output=())
        self.raised: BaseException | None = None
        self._on_task = on_task

    def _tell(self, task: TaskResult) -> None:
        """What a listener raises is its own host's matter: it must end neither the run nor the others' news."""
        if self.raised is None:
            try:
                self._on_task(task)
            except BaseException as error:  # noqa: BLE001 - raised in the listener's own thread, by run()
                self.raised = error


@dataclass(frozen=True)
class _Key:
    """What can be one run: the same playbook, and variables of the same names."""

    playbook: str
    names: frozenset[str]


class AnsiblePlaybooks:
    """Runs the project's playbooks with the project's ansible.cfg against one inventory; for any number of threads.

    Calls of hosts that are at work (`enter`, `leave`) are joined; a call of a host that nobody spoke of starts at once.
    """

    def __init__(self, inventory: Path, workers: int = WORKERS) -> None:
        self._inventory = inventory.resolve()
        self._workers = workers
        self._joiner: Joiner[_Key, _Call] = Joiner(self._play)
        self._interrupted = threading.Event()

    def enter(self, host: str) -> None:
        """This host is at work: others' calls may wait a moment for its own."""
        self._joiner.enter(host)

    def leave(self, host: str) -> None:
        """It isn't any more."""
        self._joiner.leave(host)

    def interrupt(self) -> None:
        """End all runs and refuse new ones: their callers get KeyboardInterrupt."""
        self._interrupted.set()

    def run(self, playbook: str, host: str, variables: Mapping[str, Any], on_task: Callable[[TaskResult], None]) -> None:
        call = _Call(host, variables, on_task)
        try:
            with self._interruptible():
                self._joiner.call(_Key(playbook, frozenset(variables)), host, call)
        except OSError as error:  # a full or cleaned temporary directory, no process to be had
            raise PlaybookFailed(f"{host}: playbook {playbook} can't be run here: {error}", hint="look at TMPDIR") from error
        if call.raised is not None:
            raise call.raised
        if not call.well:
            raise _failure(playbook, call)

    def _play(self, key: _Key, calls: Sequence[_Call]) -> None:
        if self._interrupted.is_set():
            raise KeyboardInterrupt
        events = RunEvents({call.host: call.events for call in calls})
        run = AnsibleRun(
            playbook=assets.playbook(key.playbook),
            inventory=self._inventory,
            hosts=tuple(call.host for call in calls),
            variables=extra_variables({call.host: call.variables for call in calls}),
            workers=min(len(calls), self._workers),
        )
        ended = play(run, events.handle, self._interrupted)
        for call in calls:
            call.ended = ended
            call.well = call.host in events.ended_well and not ended.timed_out

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and SIGHUP must end the playbook first: an exception in the middle would leave it running alone.

        In other threads no signal arrives; whoever started them calls interrupt().
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        numbers = tuple(number for number in asked if signal.getsignal(number) is not signal.SIG_IGN)  # nohup(1)
        before = [signal.signal(number, lambda *_: self.interrupt()) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)


def _failure(playbook: str, call: _Call) -> DdtreeOpsError:
    host, output = call.host, call.ended.output
    if call.ended.timed_out:
        running = call.events.running or playbook
        return PlaybookFailed(f"{host}: {running}: no end after {TIMEOUT_SECONDS:.0f} s", evidence=output)
    failed = [task for task in call.events.finished if task.state in (TaskState.FAILED, TaskState.UNREACHABLE)]
    if not failed:
        return PlaybookFailed(f"{host}: playbook {playbook} did not run", evidence=output)
    task = failed[-1]
    first, _, rest = task.message.partition("\n")
    if task.state is TaskState.UNREACHABLE:
        return Unreachable(f"{host}: Ansible can't reach the host: {first}")
    if first.startswith(_LOCK_LOST):
        return Locked(f"{host}: {first}")
    where = f"{task.role} : {task.task}" if task.role else task.task
    return PlaybookFailed(f"{host}: {where}: {first}", evidence=tuple(rest.splitlines()[-20:]))
