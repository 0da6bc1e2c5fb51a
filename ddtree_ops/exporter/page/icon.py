"""Shapes of the states, title and favicon of a page: a tab in the background tells the worst. Shapes differ, not only colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from ddtree_ops.exporter.sight.model import State
from ddtree_ops.exporter.sight.row import STATES, Severity

#: SVG in a box of 16 x 16; status.css has the classes.
SHAPES = {
    State.FAILED: "<path d='M5 1h6l4 4v6l-4 4H5l-4-4V5z'/><path class='cut' d='M5.5 5.5l5 5m0-5l-5 5'/>",
    State.UNANSWERING: "<circle cx='8' cy='8' r='6.5'/><path class='cut' d='M5 8h6'/>",
    State.STALLED: "<path d='M8 1l7.5 13.5H.5z'/><path class='cut' d='M6.6 7.5v4.5m2.8-4.5v4.5'/>",
    State.LOADING: "<circle class='faint' cx='8' cy='8' r='6'/><path class='ring' d='M8 2a6 6 0 0 1 6 6'/>",
    State.UNREACHABLE: "<circle class='dashed' cx='8' cy='8' r='6'/><path class='ring' d='M3 13L13 3'/>",
    State.UNKNOWN: "<circle class='dashed' cx='8' cy='8' r='6'/><circle cx='8' cy='8' r='1.5'/>",
    State.STOPPING: "<rect class='ring' x='3' y='3' width='10' height='10' rx='1'/>",
    State.STOPPED: "<rect x='2.5' y='2.5' width='11' height='11' rx='1.5'/>",
    State.ABSENT: "<path class='ring' d='M3 8h10'/>",
    State.SERVING: "<circle cx='8' cy='8' r='6.5'/><path class='cut' d='M5 8.2l2.2 2.2L11.2 6'/>",
}
_COLOURS = {
    Severity.BAD: "#c4281c",
    Severity.WARNING: "#b86e00",
    Severity.BUSY: "#1f6fd1",
    Severity.LOST: "#7a4fb5",
    Severity.QUIET: "#6b7280",
    Severity.GOOD: "#1d8348",
}
_CLASS = re.compile(r"class='(\w+)'")
_TOLD = 3


def icon(counts: Sequence[tuple[State, int]]) -> str:
    """A data: address. A picture has no style sheet, so its lines are coloured here."""
    state = counts[0][0] if counts else State.UNKNOWN
    colour = _COLOURS[STATES[state][1]]
    lines = lambda found: f"fill='none' stroke-width='2' stroke='{'#fff' if found[1] == 'cut' else colour}'"  # noqa: E731
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='{colour}'>{_CLASS.sub(lines, SHAPES[state])}</svg>"
    return "data:image/svg+xml," + quote(svg, safe=" ='/:")


def title(counts: Sequence[tuple[State, int]], place: str) -> str:
    """`1 failed, 2 loading – fleet – ddtree-ops`; of one server just its state."""
    if len(counts) == 1 and counts[0][1] == 1:
        told = STATES[counts[0][0]][0]
    else:
        told = ", ".join(f"{count} {STATES[state][0]}" for state, count in counts[:_TOLD])
    return f"{told} – {place} – ddtree-ops" if told else f"{place} – ddtree-ops"
