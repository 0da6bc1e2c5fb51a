"""A series as a small SVG: a line over its area."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ddtree_ops.exporter.page.render import trusted

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 59, 18
_TOP = 2
_PARTS = 10  # of a unit of height
# From the baseline to the top.
_Y = tuple(f"{step / _PARTS:g}" for step in range(HEIGHT * _PARTS, _TOP * _PARTS - 1, -1))


def spark(series: Sequence[float | None], words: str) -> Markup:
    """The newest value stands at the right edge; gaps stay gaps; the scale begins at 0. Empty if there is nothing to draw.

    `words` say what is shown; they are ours, and need no escape.
    """
    known = [value for value in series if value is not None]
    if len(known) < 2:
        return trusted("")
    top = max(known)
    scale = (len(_Y) - 1) / top if top else 0.0
    lines, areas = [], []
    for missing, run in groupby(enumerate(series, WIDTH + 1 - len(series)), lambda point: point[1] is None):
        if missing:
            continue
        points = [f"{x} {_Y[int((value or 0.0) * scale + 0.5)]}" for x, value in run]
        if len(points) == 1:
            (x, y) = points[0].split()
            points.append(f"{int(x) + 1} {y}")
        line = "L".join(points)
        lines.append(f"M{line}")
        areas.append(f"M{points[0].split()[0]} {HEIGHT}L{line}L{points[-1].split()[0]} {HEIGHT}Z")
    title = f"{words}: {min(known):,.2f} to {top:,.2f} in the last {len(series)} readings"
    return trusted(
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}" preserveAspectRatio="none">'
        f'<title>{title}</title><path class="area" d="{"".join(areas)}"/><path class="line" d="{"".join(lines)}"/></svg>'
    )
