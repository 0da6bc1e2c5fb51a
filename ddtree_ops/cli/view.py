"""Progress for people, on stderr: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from ddtree_ops.flows.progress import LoadNews, News, StepEnded, StepStarted, TaskNews
from ddtree_ops.ports import TaskState
from ddtree_ops.report.deployment import StepState
from ddtree_ops.report.safe_text import one_line

if TYPE_CHECKING:
    from ddtree_ops.units.readiness import Waiting

PLAIN_LOAD_SECONDS = 10.0
_MARKS = {StepState.OK: ("✓", "green"), StepState.FAILED: ("✗", "red")}


def make_view() -> PlainView | LiveView:
    """The view that fits stderr."""
    drawable = sys.stderr.isatty() and (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"
    return LiveView() if drawable else PlainView()


class PlainView(AbstractContextManager["PlainView"]):
    """Lines for logs and pipes: every step's end, each phase of the load once, and a sign of life every 10 s."""

    def __init__(self) -> None:
        self._segment = ""
        self._shown = 0.0

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, news: News) -> None:
        text = self._text(news)
        if text is None:
            return
        # Nobody may read any more (`deploy | head`); that must not end a deploy in the middle.
        with suppress(OSError):
            print(f"{one_line(news.host)}  {text}", file=sys.stderr, flush=True)  # noqa: T201

    def _text(self, news: News) -> str | None:
        if isinstance(news, StepEnded):
            return step_text(news)
        if isinstance(news, TaskNews) and news.task.state in (TaskState.FAILED, TaskState.UNREACHABLE):
            return f"  {task_name(news)}: {one_line(news.task.message.partition(chr(10))[0])}"
        if isinstance(news, LoadNews):
            return self._load(news.waiting)
        return None

    def _load(self, waiting: Waiting) -> str | None:
        now = time.monotonic()
        if waiting.segment == self._segment and now - self._shown < PLAIN_LOAD_SECONDS:
            return None
        self._segment, self._shown = waiting.segment, now
        return f"  {load_text(waiting)}"


class LiveView(AbstractContextManager["LiveView"]):
    """Finished steps stay as lines; the running one shows a spinner, its Ansible task or the load's bar."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.status import Status

        self._console = Console(stderr=True, highlight=False)
        self._status: Status = self._console.status("")
        self._step = ""

    def __enter__(self) -> LiveView:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def pause(self) -> None:
        """Free the line for a question."""
        self._status.stop()

    def resume(self) -> None:
        self._status.start()

    def __call__(self, news: News) -> None:
        from rich.markup import escape

        host = escape(news.host)
        if isinstance(news, StepStarted):
            self._step = news.step
            self._status.update(f"[bold]{host}[/]  {escape(news.step)}")
        elif isinstance(news, StepEnded):
            mark, style = _MARKS[news.step.state]
            self._console.print(f"[{style}]{mark}[/] [bold]{host}[/]  {escape(step_text(news))}")
        elif isinstance(news, TaskNews) and news.task.state is TaskState.STARTED:
            self._status.update(f"[bold]{host}[/]  {self._step}  [dim]{escape(task_name(news))}[/]")
        elif isinstance(news, LoadNews):
            self._status.update(f"[bold]{host}[/]  {self._step}  {_bar(news.waiting)} {escape(load_text(news.waiting))}")


def step_text(news: StepEnded) -> str:
    step = news.step
    mark = "" if step.state is not StepState.FAILED else "FAILED "
    return f"{step.name:<10} {step.seconds:6.1f} s  {mark}{one_line(step.detail)}".rstrip()


def task_name(news: TaskNews) -> str:
    return one_line(f"{news.task.role} : {news.task.task}" if news.task.role else news.task.task)


def load_text(waiting: Waiting) -> str:
    """`weights 41%  0:12 elapsed, about 0:20 left`."""
    percent = f" {waiting.percent}%" if waiting.percent is not None else ""
    left = f", about {clock(waiting.eta)} left" if waiting.eta is not None else ""
    return f"{one_line(waiting.segment)}{percent}  {clock(waiting.elapsed)} elapsed{left}"


def clock(seconds: float) -> str:
    """`0:07`, `6:52`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _bar(waiting: Waiting, width: int = 24) -> str:
    if waiting.done is None:
        return ""
    full = round(width * waiting.done)
    return f"[green]{'━' * full}[/][dim]{'━' * (width - full)}[/]"
