"""What a terminal has instead of shapes, colours and lines of the status page."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_ops.exporter.sight.model import State
from ddtree_ops.exporter.sight.row import Severity

# Shape, and its ASCII form: a state is never told by its colour alone.
SHAPES = {
    State.FAILED: ("✖", "x"),
    State.UNANSWERING: ("⊗", "!"),
    State.STALLED: ("▲", "!"),
    State.LOADING: ("◐", "~"),
    State.UNREACHABLE: ("⊘", "?"),
    State.UNKNOWN: ("○", "?"),
    State.STOPPING: ("□", "-"),
    State.STOPPED: ("■", "-"),
    State.ABSENT: ("–", "-"),
    State.SERVING: ("●", "*"),
}
STYLES = {
    Severity.BAD: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.BUSY: "bold blue",
    Severity.LOST: "bold magenta",
    Severity.QUIET: "",
    Severity.GOOD: "green",
}
_BLOCKS = "▁▂▃▄▅▆▇█"
_SHOWN = 16


def blocks(series: Sequence[float | None]) -> str:
    """The newest values as a line of blocks; a space where nothing was known."""
    shown = series[-_SHOWN:]
    top = max((value for value in shown if value is not None), default=0.0)
    if top <= 0:
        return ""
    return "".join(" " if value is None else _BLOCKS[min(7, int(value / top * 7.99))] for value in shown)
