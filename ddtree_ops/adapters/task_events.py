"""ansible-runner's event dictionaries into TaskResults, each host its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ddtree_ops.ports import TaskResult, TaskState

# Event names of Ansible's callback interface, as ansible-runner passes them on.
_ENDS = {
    "runner_on_ok": TaskState.OK,
    "runner_on_failed": TaskState.FAILED,
    "runner_on_skipped": TaskState.SKIPPED,
    "runner_on_unreachable": TaskState.UNREACHABLE,
}
# Where modules put what went wrong, best first.
_MESSAGES = ("msg", "stderr", "module_stderr", "stdout", "reason")


class TaskEvents:
    """Collects finished tasks and hands every start and end to `on_task`; `running` is the task begun last."""

    def __init__(self, on_task: Callable[[TaskResult], None]) -> None:
        self._on_task = on_task
        self._finished: list[TaskResult] = []
        self.running = ""

    @property
    def finished(self) -> tuple[TaskResult, ...]:
        return tuple(self._finished)

    def handle(self, event: dict[str, Any]) -> bool:
        """ansible-runner's event handler. True keeps the event."""
        data = event.get("event_data") or {}
        name = event.get("event")
        if name == "runner_on_start":
            self.running = str(data.get("task", ""))
            self._on_task(_result(data, TaskState.STARTED))
        elif name in _ENDS and not data.get("ignore_errors"):
            result = _result(data, _ENDS[name])
            self._finished.append(result)
            self._on_task(result)
        return True


class RunEvents:
    """The events of one run: each goes to its own host; `ended_well` are the hosts of which Ansible's recap says so."""

    def __init__(self, hosts: Mapping[str, TaskEvents]) -> None:
        self._hosts = hosts
        self.ended_well: frozenset[str] = frozenset()

    def handle(self, event: dict[str, Any]) -> bool:
        """ansible-runner's event handler. True keeps the event."""
        data = event.get("event_data") or {}
        if event.get("event") == "playbook_on_stats":
            bad = {*(data.get("failures") or ()), *(data.get("dark") or ())}
            self.ended_well = frozenset(data.get("processed") or ()) - bad
        elif data.get("host") in self._hosts:
            self._hosts[data["host"]].handle(event)
        return True


def _result(data: dict[str, Any], state: TaskState) -> TaskResult:
    res = data.get("res") or {}
    if state is TaskState.OK and res.get("changed"):
        state = TaskState.CHANGED
    bad = state in (TaskState.FAILED, TaskState.UNREACHABLE)
    return TaskResult(
        host=str(data.get("host", "")),
        role=data.get("role"),
        task=str(data.get("task", "")),
        state=state,
        message=_message(res) if bad else "",
        seconds=float(data.get("duration") or 0.0),
    )


def _message(res: dict[str, Any]) -> str:
    parts = [str(res[key]).strip() for key in _MESSAGES if res.get(key)]
    failed_items = [_message(item) for item in res.get("results", ()) if item.get("failed")]
    return "\n".join(dict.fromkeys(parts + failed_items)) or "failed without a message"
