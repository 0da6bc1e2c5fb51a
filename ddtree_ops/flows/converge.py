"""The one playbook run of a deploy, shown as four named steps: stage, validate, arm, switch."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from ddtree_ops.flows.progress import StepDetail, StepLog, TaskNews, Tell
from ddtree_ops.ports import Playbooks, TaskResult, TaskState

PLAYBOOK = "converge"
STAGE, VALIDATE, ARM, SWITCH = "stage", "validate", "arm", "switch"
ORDER = (STAGE, VALIDATE, ARM, SWITCH)
# How the tasks of a step's own begin, by role; every other task stages.
_BEGINNINGS: Mapping[tuple[str, str], str] = {
    ("runtime", "Let SGLang"): VALIDATE,
    ("runtime", "Refuse what SGLang"): VALIDATE,
    ("service", "Arm"): ARM,
    ("service", "Switch"): SWITCH,
}


def step_of(task: TaskResult) -> str:
    """The step that a task of the playbook belongs to."""
    found = (step for (role, words), step in _BEGINNINGS.items() if task.role == role and task.task.startswith(words))
    return next(found, STAGE)


@dataclass
class Progress:
    """The step that goes on. `touched`: more than staging may have been done. `armed`: the arm task ended well."""

    step: str = STAGE
    touched: bool = False
    armed: bool = False

    def take(self, task: TaskResult) -> None:
        """A task of any playbook that arms."""
        if step_of(task) == ARM and task.state in (TaskState.OK, TaskState.CHANGED):
            self.armed = True


def converge(playbooks: Playbooks, host: str, variables: Mapping[str, Any], log: StepLog, tell: Tell, progress: Progress) -> None:
    """Run it; `progress` tells a caller who catches the error how far it came. Raises PlaybookFailed, Unreachable."""
    with _steps(host, log, tell, progress) as take:
        playbooks.run(PLAYBOOK, host, variables, take.task)


class _Steps:
    """Begins a step with its first task, and ends it with the next one's."""

    def __init__(self, host: str, log: StepLog, tell: Tell, progress: Progress) -> None:
        self._host = host
        self._log = log
        self._tell = tell
        self._progress = progress
        self._tasks = self._changed = 0
        self._begin(STAGE)  # Ansible's own start counts, too

    def task(self, task: TaskResult) -> None:
        step = step_of(task)
        if task.state is TaskState.STARTED and ORDER.index(step) > ORDER.index(self._progress.step):
            self.end()
            self._begin(step)
        self._progress.take(task)
        self._tell(TaskNews(self._host, task))
        if task.state is not TaskState.STARTED:
            self._tasks += 1
            self._changed += task.state is TaskState.CHANGED
            self._detail.text = f"{self._tasks} task{'s' * (self._tasks != 1)}, {self._changed} changed"

    def _begin(self, step: str) -> None:
        self._progress.step = step
        self._progress.touched |= step in (ARM, SWITCH)
        self._tasks = self._changed = 0
        self._open: AbstractContextManager[StepDetail] | None = self._log.step(step)
        self._detail = self._open.__enter__()

    def end(self) -> None:
        """As its context would be left now: well, or by the exception that is on its way."""
        opened, self._open = self._open, None
        if opened is not None:
            opened.__exit__(*sys.exc_info())


@contextmanager
def _steps(host: str, log: StepLog, tell: Tell, progress: Progress) -> Iterator[_Steps]:
    steps = _Steps(host, log, tell, progress)
    try:
        yield steps
    except BaseException:
        steps.end()
        raise
    steps.end()
