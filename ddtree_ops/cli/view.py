"""Progress for people, on stderr: one live line on a terminal (a table for several hosts), plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from ddtree_ops.cli.progress_text import bar, load_text, step_text, task_name
from ddtree_ops.cli.show import verdict
from ddtree_ops.cli.terminal import is_dumb
from ddtree_ops.flows.progress import HostEnded, HostWaits, LoadNews, News, StepEnded, StepStarted, TaskNews
from ddtree_ops.ports import TaskState
from ddtree_ops.report.deployment import StepState
from ddtree_ops.report.safe_text import one_line

if TYPE_CHECKING:
    from ddtree_ops.cli.table import TableView
    from ddtree_ops.units.readiness import Waiting

PLAIN_LOAD_SECONDS = 10.0
_MARKS = {StepState.OK: ("✓", "green"), StepState.FAILED: ("✗", "red")}


def make_view(hosts: Sequence[str] = ()) -> PlainView | LiveView | TableView:
    """The view that fits stderr, and the number of hosts."""
    drawable = sys.stderr.isatty() and (sys.stderr.encoding or "").lower().replace("-", "") == "utf8"
    if not drawable or is_dumb():
        return PlainView()
    if len(hosts) < 2:
        return LiveView()
    from ddtree_ops.cli.table import TableView

    return TableView(hosts)


class PlainView(AbstractContextManager["PlainView"]):
    """Lines for logs and pipes: every step's end, each phase of the load once, and a sign of life every 10 s.

    Each line begins with its host; news come from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: dict[str, tuple[str, float]] = {}

    def __exit__(self, *_: object) -> None:
        return None

    def pause(self) -> None:
        """A question needs nothing of us."""

    def resume(self) -> None:
        """Nor does its end."""

    def __call__(self, news: News) -> None:
        # Nobody may read any more (`deploy | head`); that must not end a deploy in the middle.
        with self._lock, suppress(OSError):
            text = self._text(news)
            if text is not None:
                print(f"{one_line(news.host)}  {text}", file=sys.stderr, flush=True)  # noqa: T201

    def _text(self, news: News) -> str | None:
        if isinstance(news, StepEnded):
            return step_text(news)
        if isinstance(news, TaskNews) and news.task.state in (TaskState.FAILED, TaskState.UNREACHABLE):
            return f"  {task_name(news)}: {one_line(news.task.message.partition(chr(10))[0])}"
        if isinstance(news, LoadNews):
            return self._load(news.host, news.waiting)
        if isinstance(news, HostWaits):
            return f"{news.changes} changes, waits for its turn"
        if isinstance(news, HostEnded):
            return f"{verdict(news.report)[1]}  ({news.report.seconds:.1f} s)"
        return None

    def _load(self, host: str, waiting: Waiting) -> str | None:
        now = time.monotonic()
        segment, shown = self._shown.get(host, ("", 0.0))
        if waiting.segment == segment and now - shown < PLAIN_LOAD_SECONDS:
            return None
        self._shown[host] = waiting.segment, now
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
        with suppress(OSError):
            self._status.stop()

    def pause(self) -> None:
        """Free the line for a question."""
        self._status.stop()

    def resume(self) -> None:
        self._status.start()

    def __call__(self, news: News) -> None:
        with suppress(OSError):  # the terminal was closed; that must not end a deploy in the middle
            self._show(news)

    def _show(self, news: News) -> None:
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
            drawn = bar(news.waiting.done)
            self._status.update(f"[bold]{host}[/]  {self._step}  {drawn} {escape(load_text(news.waiting))}")
