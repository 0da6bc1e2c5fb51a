"""ansible-runner's events (form of 2.4.3 with ansible-core 2.19) into task results."""

from __future__ import annotations

from typing import Any

from ddtree_ops.adapters.task_events import TaskEvents
from ddtree_ops.ports import TaskResult, TaskState


def event(name: str, **data: Any) -> dict[str, Any]:
    return {"event": name, "event_data": {"host": "ct200", "role": "runtime", "task": "Send", "duration": 0.2, **data}}


def states(*events: dict[str, Any]) -> list[TaskResult]:
    told: list[TaskResult] = []
    handler = TaskEvents(told.append)
    assert all(handler.handle(one) for one in events)
    return told


def test_started_ok_changed_skipped() -> None:
    told = states(
        event("playbook_on_play_start"),
        event("runner_on_start"),
        event("runner_on_ok", res={"changed": False}),
        event("runner_on_ok", res={"changed": True}),
        event("runner_on_skipped", res={}),
    )
    assert [one.state for one in told] == [TaskState.STARTED, TaskState.OK, TaskState.CHANGED, TaskState.SKIPPED]


def test_a_failure_carries_every_message_once() -> None:
    res = {"msg": "non-zero return code", "stderr": "no space left", "stdout": "", "module_stderr": "no space left"}
    (one,) = states(event("runner_on_failed", res=res))
    assert one.message == "non-zero return code\nno space left"


def test_a_failed_loop_names_the_items() -> None:
    res = {"msg": "One or more items failed", "results": [{"failed": False}, {"failed": True, "msg": "x.whl: no such file"}]}
    (one,) = states(event("runner_on_failed", res=res))
    assert "x.whl: no such file" in one.message


def test_a_failure_that_is_ignored_is_none() -> None:
    assert states(event("runner_on_failed", res={"msg": "x"}, ignore_errors=True)) == []
