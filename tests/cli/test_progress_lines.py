"""DDTREE_OPS_PROGRESS: lines for programs, that never hold up or end a deploy."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ddtree_ops.cli.progress_lines import VARIABLE, also_lines
from ddtree_ops.errors import UsageError
from ddtree_ops.flows.progress import News, StepEnded, StepStarted, TaskNews
from ddtree_ops.ports import TaskResult, TaskState
from ddtree_ops.report.deployment import Step, StepState

NEWS: tuple[News, ...] = (
    StepStarted("ct200", "stage"),
    TaskNews("ct200", TaskResult("ct200", "runtime", "Make it a release", TaskState.STARTED)),
    StepEnded("ct200", Step("stage", StepState.OK, 12.34567, "43 tasks")),
)


def test_every_step_and_task_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "progress"))
    seen: list[News] = []
    tell = also_lines(seen.append)
    for news in NEWS:
        tell(news)
    assert tuple(seen) == NEWS
    assert [json.loads(line) for line in (tmp_path / "progress").read_text().splitlines()] == [
        {"host": "ct200", "event": "step_started", "step": "stage"},
        {"host": "ct200", "event": "task", "task": "runtime : Make it a release", "state": "started"},
        {"host": "ct200", "event": "step_ended", "step": "stage", "state": "ok", "seconds": 12.346, "detail": "43 tasks"},
    ]


def test_a_reader_that_reads_nothing_or_goes_holds_up_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setenv(VARIABLE, str(pipe))
    seen: list[News] = []
    tell = also_lines(seen.append)
    for _ in range(5000):  # more than a pipe holds
        tell(NEWS[0])
    os.close(reader)
    tell(NEWS[0])
    assert len(seen) == 5001


def test_a_pipe_that_nobody_reads_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "pipe"))
    with pytest.raises(UsageError, match="can't be opened"):
        also_lines(lambda _: None)


def test_without_the_variable_the_view_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)

    def view(news: News) -> None: ...

    assert also_lines(view) is view
