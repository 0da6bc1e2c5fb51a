"""The table of `status --watch` on a terminal: as many columns and rows as fit, the worst rows first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddtree_ops.cli.watch_row import STATES, Row, blocks, detail, failure, release, requests
from ddtree_ops.exporter.sight.model import State
from ddtree_ops.exporter.sight.words import number, plain

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

GAP = 2
BAR = 12
LEAST_DETAIL, MOST_DETAIL = 18, 44
_STATE_WIDTH = max(len(word) for _, _, word, _ in STATES.values()) + 2
OTHER_LINES = 4  # heading, counts, cursor, and one to spare


@dataclass(frozen=True)
class Column:
    """`words` gives the cell; the higher `weight`, the sooner it goes when the terminal is narrow."""

    title: str
    words: Callable[[Row, float], str]
    weight: int
    right: bool = False
    style: Callable[[Row], str] = lambda _row: ""


def _warned(value: Callable[[Row], object]) -> Callable[[Row], str]:
    return lambda row: "yellow" if value(row) else ""


COLUMNS = (
    Column("Load", lambda row, _: _percent(row), 2),
    Column("Run/queue", lambda row, _: requests(row), 3, True, _warned(lambda row: row.server.traffic.queued)),
    Column("Tok/s", lambda row, _: number(row.server.traffic.tokens, 1), 4, True),
    Column("", lambda row, _: blocks(row.server.traffic.tokens_series), 9),
    Column("Accept", lambda row, _: number(row.server.traffic.acceptance, 2), 5, True),
    Column("", lambda row, _: blocks(row.server.traffic.acceptance_series), 10),
    Column("Restarts", lambda row, _: number(row.server.restarts), 6, True, _warned(lambda row: row.server.restarts)),
    Column("Drift", lambda row, _: number(row.sight.drift_items), 7, True, _warned(lambda row: row.sight.drift_items)),
    Column("Last failure", failure, 1),
    Column("Model", lambda row, _: plain(row.server.settings.model or "–", 40), 11),
    Column("Release", lambda row, _: release(row), 12),
)


def fitting(rows: Sequence[Row], now: float, width: int, columns: Sequence[Column] = COLUMNS) -> tuple[Column, ...]:
    """The columns beside host and state that leave room for what the state means."""
    host = max((len(row.name) for row in rows), default=0) + GAP
    told = min(MOST_DETAIL, max((len(detail(row, now)) for row in rows), default=0))
    left = width - host - _STATE_WIDTH - GAP - max(LEAST_DETAIL, told)
    shown = []
    for column in sorted(columns, key=lambda one: one.weight):
        cells = max((len(column.words(row, now)) for row in rows), default=0)
        if not cells:
            continue
        needs = max(cells, len(column.title), BAR + 5 if column.title == "Load" else 0) + GAP
        if needs <= left:
            left -= needs
            shown.append(column)
    return tuple(column for column in columns if column in shown)


def table(rows: Sequence[Row], now: float, width: int, height: int, symbols: bool) -> RenderableType:
    """All of it; `symbols` is whether the terminal's encoding has them."""
    from rich.table import Table

    shown = rows[: max(1, height - OTHER_LINES)]
    columns = [one for one in fitting(shown, now, width) if symbols or one.title]
    drawn = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, expand=True, header_style="dim")
    drawn.add_column("Host", no_wrap=True, style="bold")
    drawn.add_column("State", no_wrap=True, min_width=_STATE_WIDTH)
    for column in columns:
        drawn.add_column(column.title, no_wrap=True, justify="right" if column.right else "left")
    drawn.add_column("", no_wrap=True, overflow="ellipsis" if symbols else "crop", ratio=1)
    for row in shown:
        drawn.add_row(
            _text(row.name),
            _state(row, symbols),
            *(_cell(one, row, now, symbols) for one in columns),
            _text(detail(row, now), "dim"),
        )
    drawn.caption = _counts(rows, len(shown))
    drawn.caption_justify = "left"
    drawn.caption_style = "dim"
    return drawn


def _percent(row: Row) -> str:
    progress = row.server.load.progress
    return f"{int(progress * 100 + 1e-9)}%" if row.loading and progress is not None else ""


def _cell(column: Column, row: Row, now: float, symbols: bool) -> Text:
    words = column.words(row, now)
    if column.title != "Load" or not words:
        return _text(words, column.style(row), symbols)
    full = round(BAR * (row.server.load.progress or 0))
    bar = _text(("━" if symbols else "=") * full, STATES[row.server.state][3])
    bar.append(("━" if symbols else "-") * (BAR - full), "dim")
    return bar.append(f" {words:>4}")


def _state(row: Row, symbols: bool) -> Text:
    shape, plain_shape, word, style = STATES[row.server.state]
    return _text(f"{shape if symbols else plain_shape} {word}", style)


def _text(words: str, style: str = "", symbols: bool = True) -> Text:
    """Never markup: names come from hosts."""
    from rich.text import Text

    return Text(words if symbols else words.replace("–", "-").encode("ascii", "replace").decode(), style)


def _counts(rows: Sequence[Row], shown: int) -> Text:
    counted = Counter(row.server.state for row in rows)
    told = ", ".join(f"{counted[state]} {STATES[state][2]}" for state in State if counted[state])
    hidden = len(rows) - shown
    return _text(told + (f"; {hidden} of them don't fit" if hidden else "") + ". Ctrl-C ends.")
