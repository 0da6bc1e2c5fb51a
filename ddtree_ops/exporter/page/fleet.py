"""The table of all servers."""

from __future__ import annotations

from typing import Any

from ddtree_ops.exporter.page.board import Frame
from ddtree_ops.exporter.page.icon import title
from ddtree_ops.exporter.page.render import address, document, template, trusted
from ddtree_ops.exporter.page.table import Selection
from ddtree_ops.exporter.sight.row import STATES

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


def fleet_page(frame: Frame, selection: Selection) -> str:
    asked = selection.parameters
    return document(
        "fleet.html.j2",
        frame.now,
        frame.counts,
        title=fleet_title(frame),
        events=address("/events", {**asked, "since": frame.mark}),
        home=False,
        selection=selection,
        summary=trusted(summary(frame, selection)),
        total=len(frame.drawn),
        columns=COLUMNS,
        link=lambda sort: address("/", {**asked, "sort": "" if sort == "worst" else sort}),
        rows=[trusted(one.html) for one in selection.choose(frame.drawn)],
    )


def fleet_title(frame: Frame) -> str:
    return title(frame.counts, "fleet")


def summary(frame: Frame, selection: Selection) -> str:
    """The line of counts, a link a state; it changes while the page is open."""
    asked = selection.parameters
    chips = [
        {"state": state, "word": STATES[state][0], "severity": STATES[state][1], "count": count}
        | {"href": address("/", {**asked, "state": state})}
        for state, count in frame.counts
    ]
    macro: Any = template("summary.html.j2").module
    return str(macro.counts(selection, chips, len(frame.drawn)))
