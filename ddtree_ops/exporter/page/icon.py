"""Title and favicon of a page: the worst state, so that a tab in the background tells it. Shapes differ, not only colours."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from ddtree_ops.exporter.page.row import STATE_WORDS
from ddtree_ops.exporter.sight.model import State

_GREY = "#6b7280"
_WHITE = "stroke='#fff' stroke-width='2' fill='none'"
_SHAPES = {
    State.FAILED: ("#c4281c", f"<path d='M5 1h6l4 4v6l-4 4H5l-4-4V5z'/><path d='M5 5l6 6m0-6l-6 6' {_WHITE}/>"),
    State.UNANSWERING: ("#c4281c", f"<circle cx='8' cy='8' r='7'/><path d='M5 8h6' {_WHITE}/>"),
    State.STALLED: ("#b86e00", f"<path d='M8 1l7.5 14H.5z'/><path d='M8 6v4m0 1.5v1.5' {_WHITE}/>"),
    State.LOADING: ("#1f6fd1", "<path d='M8 1a7 7 0 1 1-7 7h4a3 3 0 1 0 3-3z'/>"),
    State.SERVING: ("#1d8348", f"<circle cx='8' cy='8' r='7'/><path d='M4.5 8.2l2.4 2.4 4.6-5' {_WHITE}/>"),
}
_OTHER = (_GREY, "<path d='M8 1a7 7 0 1 0 0 14A7 7 0 1 0 8 1zm0 3a4 4 0 1 1 0 8 4 4 0 1 1 0-8z'/>")
_TOLD = 3


def icon(counts: Sequence[tuple[State, int]]) -> str:
    """A data: address."""
    colour, shape = _SHAPES.get(counts[0][0], _OTHER) if counts else _OTHER
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='{colour}'>{shape}</svg>"
    return "data:image/svg+xml," + quote(svg, safe=" ='/:")


def title(counts: Sequence[tuple[State, int]], place: str) -> str:
    """`1 failed, 2 loading – fleet – ddtree-ops`; of one server just its state."""
    if len(counts) == 1 and counts[0][1] == 1:
        told = STATE_WORDS[counts[0][0]]
    else:
        told = ", ".join(f"{count} {STATE_WORDS[state]}" for state, count in counts[:_TOLD])
    return f"{told} – {place} – ddtree-ops" if told else f"{place} – ddtree-ops"
