"""What is known of each host of a rollout, and which rows of it fit a terminal. No drawing here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from ddtree_ops.cli.progress_text import load_text, task_name
from ddtree_ops.cli.show import verdict
from ddtree_ops.flows.progress import HostEnded, HostWaits, LoadNews, News, StepEnded, StepStarted, TaskNews
from ddtree_ops.ports import TaskState
from ddtree_ops.report.deployment import Outcome, StepState


class Where(IntEnum):
    """How far a host is; the order is that of interest when not all fit."""

    AT_WORK = 0
    FAILED = 1
    WAITING = 2
    PENDING = 3
    NOT_BEGUN = 4
    DONE = 5
    NOT_YET = 6


WORDS = {
    Where.AT_WORK: "at work",
    Where.FAILED: "not well",
    Where.WAITING: "waiting",
    Where.PENDING: "to change",
    Where.NOT_BEGUN: "not begun",
    Where.DONE: "done",
    Where.NOT_YET: "to come",
}


_ENDS = {Outcome.WOULD_CHANGE: Where.PENDING, Outcome.NOT_BEGUN: Where.NOT_BEGUN}


@dataclass(frozen=True)
class Row:
    """One host. `done` is the share of the load, None where there is no bar; `colour` is a style's name for the verdict."""

    host: str
    where: Where = Where.NOT_YET
    step: str = ""
    detail: str = ""
    done: float | None = None
    begun: float | None = None
    seconds: float = 0.0
    colour: str = ""


class Board:
    """Rows by host, kept up to date by news; times are of a monotonic clock, in seconds."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._rows = {host: Row(host) for host in hosts}

    def take(self, news: News, now: float) -> None:
        """One piece of news."""
        row = self._rows.get(news.host, Row(news.host))
        self._rows[news.host] = _with(replace(row, begun=now if row.begun is None else row.begun), news)

    def rows(self, now: float, height: int) -> Iterator[Row]:
        """As many rows as fit `height` lines, in the hosts' order; the others are told by summary()."""
        timed = [self._timed(row, now) for row in self._rows.values()]
        if len(timed) <= height:
            yield from timed
            return
        chosen = {row.host for row in sorted(timed, key=lambda row: row.where)[:height]}
        yield from (row for row in timed if row.host in chosen)

    def summary(self) -> str:
        """`30 hosts: 10 at work, 12 waiting, 8 done`."""
        counts = Counter(row.where for row in self._rows.values())
        told = ", ".join(f"{counts[where]} {WORDS[where]}" for where in Where if counts[where])
        return f"{len(self._rows)} hosts: {told}"

    def _timed(self, row: Row, now: float) -> Row:
        if row.begun is None or row.where not in (Where.AT_WORK, Where.WAITING):
            return row
        return replace(row, seconds=now - row.begun)


def _with(row: Row, news: News) -> Row:
    if isinstance(news, HostEnded):
        colour, words = verdict(news.report)
        where = _ENDS.get(news.report.outcome, Where.DONE if news.report.exit_code == 0 else Where.FAILED)
        return replace(row, where=where, detail=words, done=None, seconds=news.report.seconds, colour=colour)
    if isinstance(news, HostWaits):
        return replace(row, where=Where.WAITING, step="", detail=f"{news.changes} changes, waits for its turn", done=None)
    if isinstance(news, StepStarted):
        return replace(row, where=Where.AT_WORK, step=news.step, detail="", done=None)
    if isinstance(news, StepEnded):
        failed = news.step.state is StepState.FAILED
        return replace(row, where=Where.AT_WORK, step=news.step.name, detail="failed" if failed else news.step.detail, done=None)
    if isinstance(news, TaskNews):
        return replace(row, detail=task_name(news)) if news.task.state is TaskState.STARTED else row
    if isinstance(news, LoadNews):
        return replace(row, detail=load_text(news.waiting), done=news.waiting.done)
    return row
