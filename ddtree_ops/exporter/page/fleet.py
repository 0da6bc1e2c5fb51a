"""The table of all servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ddtree_ops import __version__
from ddtree_ops.exporter.page.board import Drawn, Frame
from ddtree_ops.exporter.page.icon import icon, title
from ddtree_ops.exporter.page.render import address, clock, template, timed
from ddtree_ops.exporter.page.row import STATE_WORDS
from ddtree_ops.exporter.page.table import Selection, counts
from ddtree_ops.exporter.sight.model import State

# Name of the column's class, words, name of its order, whether it holds numbers.
COLUMNS = (
    ("host", "Host", "host", False),
    ("state", "State", "worst", False),
    ("model", "Model, release", "model", False),
    ("requests", "Run / queue", "requests", True),
    ("tokens", "Tokens/s", "tokens", True),
    ("acceptance", "Acceptance", "acceptance", True),
    ("restarts", "Restarts", "restarts", True),
    ("drift", "Drift", "drift", True),
    ("failure", "Last failure", "failure", False),
)


def parameters(selection: Selection) -> dict[str, str]:
    """The selection as an address gives it."""
    sort = selection.sort if selection.sort != "worst" else ""
    return {"q": selection.query, "state": str(selection.state or ""), "sort": sort}


def chosen(frame: Frame, selection: Selection) -> list[Drawn]:
    """The rows to show, in order."""
    by_id = {drawn.entry.row.id: drawn for drawn in frame.drawn}
    return [by_id[entry.row.id] for entry in selection.choose(drawn.entry for drawn in frame.drawn)]


def fleet_page(frame: Frame, selection: Selection) -> str:
    asked = parameters(selection)
    total = counts(drawn.entry for drawn in frame.drawn)
    page = template("fleet.html.j2").render(
        title=fleet_title(total),
        icon=icon(total),
        events=address("/events", {**asked, "since": frame.mark}),
        now=frame.now,
        clock=clock(frame.now),
        home=False,
        release=__version__,
        selection=selection,
        counts=chips(total, asked),
        total=len(frame.drawn),
        columns=COLUMNS,
        link=lambda sort: address("/", {**asked, "sort": "" if sort == "worst" else sort}),
        rows=_safe([drawn.html for drawn in chosen(frame, selection)]),
    )
    return timed(page, frame.now)


def fleet_title(total: Sequence[tuple[State, int]]) -> str:
    return title(total, "fleet")


def summary(frame: Frame, selection: Selection) -> str:
    """The line of counts, which changes while the page is open."""
    asked = parameters(selection)
    total = counts(drawn.entry for drawn in frame.drawn)
    macro: Any = template("summary.html.j2").module
    return str(macro.counts(selection, chips(total, asked), len(frame.drawn)))


def chips(total: Sequence[tuple[State, int]], asked: dict[str, str]) -> list[dict[str, Any]]:
    """A link a state."""
    return [
        {"state": str(state), "word": STATE_WORDS[state], "count": count, "href": address("/", {**asked, "state": str(state)})}
        for state, count in total
    ]


def _safe(rows: Sequence[str]) -> list[Any]:
    """Rows are our own template's output, escaped there."""
    from markupsafe import Markup  # noqa: PLC0415  comes with jinja2

    return [Markup(html) for html in rows]  # noqa: S704
