"""One function for each kind of panel."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from docs.drawing.answers import Named
from docs.drawing.table import draw_table
from docs.drawing.units import COLORS, PALETTE, color_of, text_of
from tests.monitoring.grafana import View

INK, DIM, GRID = "#d8d9da", "#8e9297", "#2c3235"
Marks = Sequence[tuple[float, str]]


def draw_panel(axes: Axes, panel: Mapping[str, Any], found: Sequence[Named], view: View, marks: Marks) -> None:
    """Draw the data of a panel into its place; the frame and title are there already."""
    if not found:
        axes.set_axis_off()
        words = panel["fieldConfig"]["defaults"].get("noValue", "No data")
        axes.text(0.5, 0.5, words, color=DIM, fontsize=13, ha="center", va="center", transform=axes.transAxes)
        return
    _KINDS[panel["type"]](axes, panel, found, view, marks)


def _stat(axes: Axes, panel: Mapping[str, Any], found: Sequence[Named], view: View, _: Marks) -> None:
    field = panel["fieldConfig"]["defaults"]
    value = found[0].series.points[-1][1]
    axes.set_facecolor(color_of(value, field))
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(
        0.5,
        0.5,
        text_of(value, field, view.end),
        color="white",
        fontsize=21,
        weight="bold",
        ha="center",
        va="center",
        transform=axes.transAxes,
    )


def _lines(axes: Axes, panel: Mapping[str, Any], found: Sequence[Named], view: View, marks: Marks) -> None:
    field = panel["fieldConfig"]["defaults"]
    custom = field["custom"]
    over: dict[float, float] = {}
    stacked = custom["stacking"]["mode"] == "normal"
    for index, item in enumerate(found):
        points = _with_gaps(item.series.points, view.step(_interval(panel)))
        color = PALETTE[index % len(PALETTE)]
        if custom["drawStyle"] == "bars":
            solid = [(at, value) for at, value in points if math.isfinite(value)]
            base = [over.get(at, 0.0) for at, _ in solid]
            width = view.step(_interval(panel)) * 0.9
            axes.bar([at for at, _ in solid], [value for _, value in solid], width, base, color=color, label=item.name)
        else:
            base = [over.get(at, 0.0) if stacked else 0.0 for at, _ in points]
            top = [value + under for (_, value), under in zip(points, base, strict=True)]
            axes.plot([at for at, _ in points], top, color=color, linewidth=1.6, label=item.name)
            axes.fill_between([at for at, _ in points], base, top, color=color, alpha=0.35 if stacked else 0.06, linewidth=0)
        if stacked:
            for at, value in points:
                over[at] = over.get(at, 0.0) + (value if math.isfinite(value) else 0.0)
    _time_axis(axes, view, marks)
    axes.set_ylim(0, field.get("max") or max(axes.get_ylim()[1] * 1.05, 1e-9))
    if custom.get("thresholdsStyle", {}).get("mode") == "dashed":
        for step in field["thresholds"]["steps"]:
            if step["value"] is not None and step["value"] < axes.get_ylim()[1]:
                axes.axhline(step["value"], color=COLORS[step["color"]], linestyle="--", linewidth=0.9)
    axes.yaxis.set_major_formatter(lambda value, _: text_of(round(value, 9), field, view.end))
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(-0.02, -14 / axes.bbox.height),
        ncol=8 if max(len(item.name) for item in found) < 7 else 4,
        fontsize=6.5,
        frameon=False,
        labelcolor=INK,
        handlelength=1,
        columnspacing=1,
    )


def _states(axes: Axes, panel: Mapping[str, Any], found: Sequence[Named], view: View, marks: Marks) -> None:
    field = panel["fieldConfig"]["defaults"]
    step = view.step()
    for row, item in enumerate(reversed(found)):
        begin, held = item.series.points[0]
        for (at, _), (after, value) in (*pairwise(item.series.points), (item.series.points[-1], (math.inf, math.nan))):
            if value == held and after - at <= 2 * step:
                continue
            end = min(at + step, view.end)
            axes.barh(row, end - begin, 0.8, begin, color=color_of(held, field))
            if end - begin > (view.end - view.begin) * 0.07:
                axes.text(
                    (begin + end) / 2, row, text_of(held, field, view.end), color="white", fontsize=7.5, ha="center", va="center"
                )
            begin, held = after, value
    axes.set_yticks(range(len(found)), [item.name for item in reversed(found)])
    _time_axis(axes, view, marks)
    axes.set_ylim(-0.5, len(found) - 0.5)
    axes.grid(visible=False)


def _gauges(axes: Axes, panel: Mapping[str, Any], found: Sequence[Named], view: View, _: Marks) -> None:
    field = panel["fieldConfig"]["defaults"]
    values = [item.series.points[-1][1] for item in reversed(found)]
    top = field.get("max") or max(values) or 1.0
    axes.barh(range(len(values)), [top] * len(values), 0.7, color="#22252b")
    axes.barh(range(len(values)), values, 0.7, color=[color_of(value, field) for value in values])
    for row, value in enumerate(values):
        axes.text(top * 1.02, row, text_of(value, field, view.end), color=INK, fontsize=8, va="center")
    axes.set_yticks(range(len(values)), [item.name for item in reversed(found)])
    axes.set_xticks([])
    axes.set_xlim(0, top * 1.22)


def _density(axes: Axes, _: Mapping[str, Any], found: Sequence[Named], view: View, marks: Marks) -> None:
    """Grafana takes each bucket less the one below it."""
    rows = sorted(found, key=lambda item: float(item.name))
    below: dict[float, float] = {}
    times = [point[0] for point in rows[-1].series.points]
    cells: list[list[float]] = []
    for item in rows:
        here = dict(item.series.points)
        cells.append([here.get(at, 0.0) - below.get(at, 0.0) for at in times])
        below = here
    scheme = LinearSegmentedColormap.from_list("blues", ["#181b1f", "#1f60c4", "#8ab8ff", "#f0f6ff"])
    biggest = max(max(row) for row in cells) or 1.0
    axes.pcolormesh(
        times, range(len(rows)), [[(value / biggest) ** 0.5 for value in row] for row in cells], cmap=scheme, shading="nearest"
    )
    axes.set_yticks(range(0, len(rows), 2), [rows[index].name for index in range(0, len(rows), 2)])
    _time_axis(axes, view, marks)
    axes.grid(visible=False)


def _time_axis(axes: Axes, view: View, marks: Marks) -> None:
    axes.set_xlim(view.begin, view.end)
    hours = [view.begin + part * (view.end - view.begin) / 4 for part in range(5)]
    axes.set_xticks(hours, [datetime.fromtimestamp(at, UTC).strftime("%H:%M") for at in hours])
    axes.grid(color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    for at, color in marks:
        axes.axvline(at, color=COLORS[color], linestyle=":", linewidth=1.2)


def _with_gaps(points: Sequence[tuple[float, float]], step: float) -> list[tuple[float, float]]:
    """The points, with a NaN wherever steps are missing, so that no line goes over a gap."""
    found: list[tuple[float, float]] = []
    for at, value in points:
        if found and at - found[-1][0] > 1.5 * step:
            found.append((found[-1][0] + step, math.nan))
        found.append((at, value))
    return found


def _interval(panel: Mapping[str, Any]) -> str:
    return str(panel["targets"][0].get("interval", ""))


def _table(axes: Axes, panel: Mapping[str, Any], found: Sequence[Named], view: View, _: Marks) -> None:
    draw_table(axes, panel, found, view)


_KINDS: Mapping[str, Callable[[Axes, Mapping[str, Any], Sequence[Named], View, Marks], None]] = {
    "stat": _stat,
    "timeseries": _lines,
    "state-timeline": _states,
    "bargauge": _gauges,
    "heatmap": _density,
    "table": _table,
}
