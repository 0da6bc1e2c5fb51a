"""Draw every dashboard with data of a real Prometheus (tests/monitoring/data). Run by `python -m docs.draw_dashboards`."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from docs.drawing.answers import answers, marks
from docs.drawing.panels import DIM, INK, draw_panel
from tests.monitoring.data.store import Store, filled_store
from tests.monitoring.grafana import DASHBOARDS, View, load, resolved

IMAGES = Path(__file__).with_name("images") / "dashboards"
COLUMN, ROW, DOTS, EDGE = 62.0, 38.0, 100.0, 10.0
"""Pixels of a column and a row of Grafana's grid, dots per inch, and the picture's edge."""
INSIDE = {"stat": (0.02, 0.06, 0.96, 0.72), "table": (0.006, 0.04, 0.988, 0.82), "bargauge": (0.3, 0.05, 0.68, 0.8)}
COLORS = 200
LEFT, ABOVE, BELOW = 58.0, 30.0, 42.0


def main() -> None:
    """Write a picture of each dashboard."""
    mpl.rcParams["font.size"] = 8
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, filled_store(Path(folder)) as store:
        for name in DASHBOARDS:
            dashboard = load(name)
            view, _ = next(resolved(dashboard, store, View()))
            figure = draw(dashboard, view, store)
            drawn = io.BytesIO()
            figure.savefig(drawn, dpi=DOTS)
            Image.open(drawn).convert("RGB").quantize(COLORS).save(IMAGES / name.replace(".json", ".png"), optimize=True)


def draw(dashboard: Mapping[str, Any], view: View, store: Store) -> Figure:
    """The whole dashboard as a figure."""
    rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
    width, height = 24 * COLUMN + 2 * EDGE, (rows + 1.5) * ROW + 2 * EDGE
    figure = Figure(figsize=(width / DOTS, height / DOTS), facecolor="#111217")
    chosen = "   ".join(f"{name}: {value.strip('()').replace('|', ', ')}" for name, value in view.chosen.items())
    figure.text(EDGE / width, 1 - 24 / height, dashboard["title"], color=INK, fontsize=14, weight="bold", va="center")
    figure.text(0.16, 1 - 24 / height, chosen.replace("\\\\", ""), color=DIM, fontsize=8, va="center")
    lines = marks(dashboard, view, store)
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        left, top = EDGE + place["x"] * COLUMN, height - EDGE - (place["y"] + 1.5) * ROW
        if panel["type"] == "row":
            figure.text(left / width, (top - ROW / 2) / height, "▾ " + panel["title"], color=INK, fontsize=11, va="center")
            continue
        box = (left, top - place["h"] * ROW, place["w"] * COLUMN - 8, place["h"] * ROW - 8)
        frame = figure.add_axes((box[0] / width, box[1] / height, box[2] / width, box[3] / height), facecolor="#181b1f")
        frame.set_xticks([])
        frame.set_yticks([])
        for spine in frame.spines.values():
            spine.set_color("#2c3235")
        figure.text(
            (box[0] + 8) / width,
            (box[1] + box[3] - 14) / height,
            panel["title"],
            color=INK,
            fontsize=8.5,
            weight="bold",
            va="center",
        )
        x, y, w, h = _inside(panel["type"], box)
        axes = figure.add_axes((x / width, y / height, w / width, h / height), facecolor="none")
        axes.tick_params(colors=DIM, labelsize=7, length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        draw_panel(axes, panel, answers(panel, view, store), view, lines)
    return figure


def _inside(kind: str, box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    x, y, width, height = box
    if kind in INSIDE:
        left, bottom, wide, high = INSIDE[kind]
        return x + left * width, y + bottom * height, wide * width, high * height
    left = LEFT + (24 if kind == "state-timeline" else 0)
    return x + left, y + BELOW, width - left - 22, height - ABOVE - BELOW


if __name__ == "__main__":
    main()
