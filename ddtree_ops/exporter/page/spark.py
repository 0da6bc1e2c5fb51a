"""A series as the path of a small SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 59, 18
_TOP = 2


class Spark(NamedTuple):
    """`line` and `area` are paths in a box of WIDTH x HEIGHT; `title` is the same in words."""

    line: str
    area: str
    title: str


def spark(series: Sequence[float | None], words: str) -> Spark | None:
    """The newest value stands at the right edge; gaps stay gaps; the scale begins at 0. None if there is nothing to draw."""
    known = [value for value in series if value is not None]
    if len(known) < 2:
        return None
    top = max(known) or 1.0
    first = WIDTH + 1 - len(series)
    lines, areas = [], []
    for run in _runs(series):
        points = [f"{first + x} {_height(value, top)}" for x, value in run]
        if len(points) == 1:
            points.append(f"{first + run[0][0] + 1} {_height(run[0][1], top)}")
        lines.append("M" + "L".join(points))
        areas.append(f"M{first + run[0][0]} {HEIGHT}L" + "L".join(points) + f"L{points[-1].split()[0]} {HEIGHT}Z")
    title = f"{words}: {min(known):,.2f} to {max(known):,.2f} in the last {len(series)} readings"
    return Spark("".join(lines), "".join(areas), title)


def _height(value: float, top: float) -> str:
    return f"{HEIGHT - value / top * (HEIGHT - _TOP):.1f}".removesuffix(".0")


def _runs(series: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    runs: list[list[tuple[int, float]]] = [[]]
    for x, value in enumerate(series):
        if value is not None:
            runs[-1].append((x, value))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]
