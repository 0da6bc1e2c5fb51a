"""The live table of a rollout: one row a host while it runs; at the end the reports take its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ddtree_ops.cli.board import Board, Row, Where

if TYPE_CHECKING:
    from rich.table import Table

    from ddtree_ops.flows.progress import News

REFRESH_PER_SECOND = 4
# Lines that aren't rows: the summary, and the one that a terminal scrolls away when the cursor stands in its last line.
OTHER_LINES = 2
_STEP_STYLES = {Where.AT_WORK: "bold cyan", Where.NOT_YET: "dim"}


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
        from rich.table import Table

        height = max(1, self._console.size.height - OTHER_LINES)
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True, style="bold")
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        with self._lock:
            for row in self._board.rows(time.monotonic(), height):
                table.add_row(*_cells(row))
            summary = self._board.summary()
        table.caption = summary
        table.caption_style = "dim"
        table.caption_justify = "left"
        return table


def _cells(row: Row) -> tuple[str, str, str, str]:
    from rich.markup import escape

    from ddtree_ops.cli.progress_text import bar

    seconds = f"{row.seconds:.0f} s" if row.begun is not None else ""
    drawn = f"{bar(row.done, 16)} " if row.done is not None else ""
    detail = f"[{row.colour}]{escape(row.detail)}[/]" if row.colour else escape(row.detail)
    step = escape(row.step) if row.where in (Where.AT_WORK, Where.FAILED) else ""
    style = _STEP_STYLES.get(row.where)
    return escape(row.host), f"[{style}]{step}[/]" if style and step else step, seconds, f"{drawn}{detail}"
