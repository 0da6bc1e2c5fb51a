"""Progress for programs: with DDTREE_OPS_PROGRESS=FILE every step and task becomes one JSON line in that file or named pipe.

    {"host": "ct200", "event": "step_started", "step": "stage"}
    {"host": "ct200", "event": "task", "task": "runtime : Stage the release", "state": "started"}
    {"host": "ct200", "event": "step_ended", "step": "stage", "state": "ok", "seconds": 6.2, "detail": "2 tasks, 1 changed"}

A reader that is slow or gone never holds up a deploy: what can't be written at once is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ddtree_ops.errors import UsageError
from ddtree_ops.flows.progress import News, StepEnded, StepStarted, TaskNews, Tell
from ddtree_ops.report.redaction import redacted

VARIABLE = "DDTREE_OPS_PROGRESS"
MOST = 1000  # characters of a remark: a longer line would not go into a pipe at once (PIPE_BUF, pipe(7))


def also_lines(view: Tell) -> Tell:
    """`view`, and the lines beside it where the variable asks for them. Raises UsageError if the file can't be opened."""
    path = os.environ.get(VARIABLE)
    if not path:
        return view
    try:
        # Without O_NONBLOCK a named pipe that nobody reads would hold us here for ever (fifo(7)).
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"{VARIABLE}: {path} can't be opened for writing: {error.strerror}") from error

    def tell(news: News) -> None:
        document = as_document(news)
        if document is not None:
            with suppress(OSError):
                os.write(file, json.dumps(document).encode() + b"\n")  # one write: lines of several hosts don't mix
        view(news)

    return tell


def as_document(news: News) -> Mapping[str, Any] | None:
    """One line's content; None for news that only a person wants, such as how far a load is."""
    if isinstance(news, StepStarted):
        return {"host": news.host, "event": "step_started", "step": news.step}
    if isinstance(news, StepEnded):
        step = news.step
        told = {"step": step.name, "state": step.state.value, "seconds": round(step.seconds, 3)}
        return {"host": news.host, "event": "step_ended", **told, "detail": redacted(step.detail[:MOST])}
    if isinstance(news, TaskNews):
        task = news.task
        name = f"{task.role} : {task.task}" if task.role else task.task
        return {"host": news.host, "event": "task", "task": name, "state": task.state.value}
    return None
