"""The live table of a rollout: one row a host while it runs; at the end the reports take its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from enum import Enum
from typing import TYPE_CHECKING

from ddtree_ops.cli.board import Board, Row, Where

if TYPE_CHECKING:
    from rich.table import Table

    from ddtree_ops.flows.progress import News

REFRESH_PER_SECOND = 4
# Lines that aren't rows: the summary, and the one that a terminal scrolls away when the cursor stands in its last line.
OTHER_LINES = 2
GAP = 2
BAR_WIDTH = 16
LEAST_WORDS = 20
# A task's name may be cut, how a host ended may not.
_TOLD_WHOLE = frozenset({Where.FAILED, Where.PENDING, Where.NOT_BEGUN, Where.DONE})
_STEP_STYLES = {Where.AT_WORK: "bold cyan", Where.NOT_YET: "dim"}


class Column(Enum):
    """What stands between the host and its words."""

    STEP = "step"
    SECONDS = "seconds"
    BAR = "bar"


class TableView(AbstractContextManager["TableView"]):
    """Draws a Board on stderr; news come from any thread."""

    def __init__(self, hosts: Sequence[str]) -> None:
        from rich.console import Console
        from rich.live import Live

        self._lock = threading.Lock()
        self._board = Board(hosts)
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(
            get_renderable=self._draw,
            console=self._console,
            refresh_per_second=REFRESH_PER_SECOND,
            transient=True,
            vertical_overflow="crop",
        )

    def __enter__(self) -> TableView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # the terminal was closed
            self._live.stop()

    def pause(self) -> None:
        """Free the terminal for a question."""
        self._live.stop()

    def resume(self) -> None:
        self._live.start(refresh=True)

    def __call__(self, news: News) -> None:
        with self._lock:
            self._board.take(news, time.monotonic())

    def _draw(self) -> Table:
        from rich.markup import escape
        from rich.table import Table

        height = max(1, self._console.size.height - OTHER_LINES)
        with self._lock:
            rows = tuple(self._board.rows(time.monotonic(), height))
            summary = self._board.summary()
        shown = fitting(rows, self._console.size.width)
        table = Table.grid(padding=(0, GAP), expand=True)
        table.add_column(no_wrap=True, style="bold")
        for column in shown:
            table.add_column(no_wrap=True, justify="right" if column is Column.SECONDS else "left")
        # Where even the host and the words don't fit one line, they take two: a release's id is never cut.
        table.add_column(no_wrap=bool(shown), overflow="ellipsis" if shown else "fold", ratio=1)
        for row in rows:
            table.add_row(escape(row.host), *(_cell(row, column) for column in shown), _detail(row))
        table.caption = summary
        table.caption_style = "dim"
        table.caption_justify = "left"
        return table


def fitting(rows: Sequence[Row], width: int) -> tuple[Column, ...]:
    """The columns between host and words that leave the verdicts whole; first the bar goes, then the time, then the step."""
    words = max((len(row.detail) for row in rows if row.where in _TOLD_WHOLE), default=LEAST_WORDS)
    for shown in (tuple(Column), (Column.STEP, Column.SECONDS), (Column.STEP,)):
        taken = sum(max((len(_plain(row, column)) for row in rows), default=0) + GAP for column in shown)
        if max((len(row.host) for row in rows), default=0) + GAP + taken + max(words, LEAST_WORDS) <= width:
            return shown
    return ()


def _plain(row: Row, column: Column) -> str:
    if column is Column.STEP:
        return row.step if row.where in (Where.AT_WORK, Where.FAILED) else ""
    if column is Column.SECONDS:
        return f"{row.seconds:.0f} s" if row.begun is not None else ""
    return "" if row.done is None else " " * BAR_WIDTH


def _cell(row: Row, column: Column) -> str:
    from rich.markup import escape

    from ddtree_ops.cli.progress_text import bar

    if column is Column.BAR:
        return bar(row.done, BAR_WIDTH)
    text, style = escape(_plain(row, column)), _STEP_STYLES.get(row.where)
    return f"[{style}]{text}[/]" if column is Column.STEP and style and text else text


def _detail(row: Row) -> str:
    from rich.markup import escape

    return f"[{row.colour}]{escape(row.detail)}[/]" if row.colour else escape(row.detail)
