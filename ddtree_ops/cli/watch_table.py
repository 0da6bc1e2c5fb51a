"""The table of `status --watch` on a terminal: as many columns and rows as fit, the worst rows first."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddtree_ops.cli.watch_signs import SHAPES, STYLES, blocks
from ddtree_ops.exporter.sight.model import HostSight, State
from ddtree_ops.exporter.sight.order import counts, worst_first
from ddtree_ops.exporter.sight.row import STATES, Row, rows

if TYPE_CHECKING:
    from rich.console import OverflowMethod, RenderableType
    from rich.text import Text

GAP = 2
BAR = 12
LEAST_DETAIL, MOST_DETAIL, MOST_HOST = 18, 44, 40
_STATE_WIDTH = max(len(word) for word, _ in STATES.values()) + 2
_OTHER_LINES = 3  # heading, cursor, and one to spare


@dataclass(frozen=True)
class Column:
    """`words` gives the cell; the higher `weight`, the sooner it goes when the terminal is narrow."""

    title: str
    words: Callable[[Row, float], str]
    weight: int
    right: bool = False
    warned: Callable[[Row], bool] = lambda _row: False


def _percent(row: Row, _now: float) -> str:
    return "" if row.percent is None else f"{row.percent}%"


LOAD, FAILURE = Column("Load", _percent, 2), Column("Last failure", Row.last_failure, 1)
COLUMNS = (
    LOAD,
    Column("Run/queue", lambda row, _: f"{row.running}/{row.queued}", 3, True, lambda row: row.waits),
    Column("Tok/s", lambda row, _: row.tokens, 4, True),
    Column("", lambda row, _: blocks(row.tokens_series), 9),
    Column("Accept", lambda row, _: row.acceptance, 5, True),
    Column("", lambda row, _: blocks(row.acceptance_series), 10),
    Column("Restarts", lambda row, _: row.restarts, 6, True, lambda row: row.restarted),
    Column("Drift", lambda row, _: row.drift, 7, True, lambda row: row.drifted),
    FAILURE,
    Column("Model", lambda row, _: row.model[:40], 11),
    Column("Release", lambda row, _: row.release[:60], 12),
)


def worst(sights: Iterable[HostSight]) -> list[Row]:
    """The rows of all servers as the page has them, worst first."""
    return sorted((row for sight in sights for row in rows(sight)), key=lambda row: worst_first(row.state, row.host))


def fitting(rows: Sequence[Row], now: float, width: int) -> tuple[Column, ...]:
    """The columns beside host and state that leave room for what the state means."""
    host = min(_most_host(width), max((len(row.host) for row in rows), default=0)) + GAP
    told = min(MOST_DETAIL, max((len(detail(row, now, COLUMNS)) for row in rows), default=0))
    left = width - host - _STATE_WIDTH - GAP - max(LEAST_DETAIL, told)
    shown = []
    for column in sorted(COLUMNS, key=lambda one: one.weight):
        cells = max((len(column.words(row, now)) for row in rows), default=0)
        if not cells:
            continue
        needs = max(cells, len(column.title), BAR + 5 if column is LOAD else 0) + GAP
        if needs <= left:
            left -= needs
            shown.append(column)
    return tuple(column for column in COLUMNS if column in shown)


def _most_host(width: int) -> int:
    """The state is never pushed out."""
    return min(MOST_HOST, max(4, width - _STATE_WIDTH - GAP))


def detail(row: Row, now: float, columns: Sequence[Column]) -> str:
    """What the state alone doesn't say; what matters most of the columns that didn't fit is here, too."""
    load = _percent(row, now) if LOAD not in columns else ""
    failure = row.last_failure(now) if row.state is State.FAILED and FAILURE not in columns else ""
    return ", ".join(filter(None, (load, *row.details(now), failure)))


def table(rows: Sequence[Row], now: float, width: int, height: int, symbols: bool) -> RenderableType:
    """All of it, in `height` lines; `symbols` is whether the terminal's encoding has them."""
    from rich.console import Group
    from rich.table import Table

    room = height - _OTHER_LINES
    shown = rows[: max(1, room - len(_counts(rows, 0, width)))]
    columns = [one for one in fitting(shown, now, width) if symbols or one.title]
    cut: OverflowMethod = "ellipsis" if symbols else "crop"
    drawn = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, expand=True, header_style="dim")
    drawn.add_column("Host", no_wrap=True, overflow=cut, style="bold", max_width=_most_host(width))
    drawn.add_column("State", no_wrap=True, overflow=cut, min_width=_STATE_WIDTH)
    for column in columns:
        drawn.add_column(column.title, no_wrap=True, justify="right" if column.right else "left")
    drawn.add_column("", no_wrap=True, overflow=cut, ratio=1)
    for row in shown:
        state = _text(f"{SHAPES[row.state][not symbols]} {row.word}", STYLES[row.severity])
        cells = (_cell(one, row, now, symbols) for one in columns)
        drawn.add_row(_text(row.host, "", symbols), state, *cells, _text(detail(row, now, columns), "dim", symbols))
    return Group(drawn, _text("\n".join(_counts(rows, len(shown), width)), "dim", symbols))


def _cell(column: Column, row: Row, now: float, symbols: bool) -> Text:
    words = column.words(row, now)
    if column is not LOAD or row.percent is None:
        return _text(words, "yellow" if column.warned(row) else "", symbols)
    full = BAR * row.percent // 100
    bar = _text(("━" if symbols else "=") * full, STYLES[row.severity])
    bar.append(("━" if symbols else "-") * (BAR - full), "dim")
    return bar.append(f" {words:>4}")


def _text(words: str, style: str = "", symbols: bool = True) -> Text:
    """Never markup: names come from hosts."""
    from rich.text import Text

    return Text(words if symbols else words.replace("–", "-").encode("ascii", "replace").decode(), style)


def _counts(rows: Sequence[Row], shown: int, width: int) -> list[str]:
    """Two lines at most, the worst states in the first."""
    told = ", ".join(f"{count} {STATES[state][0]}" for state, count in counts(row.state for row in rows))
    hidden = f"{len(rows) - shown} rows don't fit. " if len(rows) > shown else ""
    return textwrap.wrap(f"{hidden}{told}. Ctrl-C ends.", max(10, width), max_lines=2, placeholder=" …")
