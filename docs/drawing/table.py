"""Tables: Grafana's `merge` and `organize` done to the answers, then drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from docs.drawing.answers import Named
from docs.drawing.units import color_of, text_of
from tests.monitoring.grafana import View

INK, DIM = "#d8d9da", "#8e9297"
Row = dict[str, str | float]


def merged(panel: Mapping[str, Any], found: Sequence[Named]) -> list[Row]:
    """One row for each set of values of the labels that all queries have."""
    shared = set.intersection(*(set(item.series.labels) for item in found))
    single = len(panel["targets"]) == 1
    rows: dict[tuple[tuple[str, str], ...], Row] = {}
    for item in found:
        labels = item.series.labels
        # Rows of one query alone never fold into each other.
        key = tuple(sorted(labels.items())) if single else tuple(sorted((name, labels[name]) for name in shared))
        row = rows.setdefault(key, {})
        row.update(labels)
        row["Value" if single else f"Value #{item.ref}"] = item.series.points[-1][1]
    return list(rows.values())


def draw_table(axes: Axes, panel: Mapping[str, Any], found: Sequence[Named], view: View) -> None:
    """Header, rows, coloured cells; columns as wide as they are set, the others share the rest."""
    organized = panel["transformations"][-1]["options"]
    names = sorted(organized["indexByName"], key=organized["indexByName"].__getitem__)
    titles = [organized["renameByName"][name] for name in names]
    fields = [_field(panel, title) for title in titles]
    rows = _sorted(panel, merged(panel, found), dict(zip(titles, names, strict=True)))
    edges = _edges(fields, axes.bbox.width)
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    height = min(0.2, 1 / (len(rows) + 1))
    for column, title in enumerate(titles):
        axes.text(edges[column] + 0.004, 1 - height / 2, title, color="#6e9fff", fontsize=7.5, weight="bold", va="center")
    for index, row in enumerate(rows):
        top = 1 - (index + 1) * height
        axes.axhline(top, color="#2c3235", linewidth=0.6)
        for column, (name, field) in enumerate(zip(names, fields, strict=True)):
            value = row.get(name)
            if isinstance(value, float) and "custom.cellOptions" in field:
                size = edges[column + 1] - edges[column] - 0.001
                axes.add_patch(Rectangle((edges[column], top - height), size, height, color=color_of(value, field)))
            text = "" if value is None else value if isinstance(value, str) else text_of(value, field, view.end)
            axes.text(edges[column] + 0.004, top - height / 2, text, color=INK, fontsize=7.5, va="center", clip_on=True)
    axes.set_ylim(0, 1)


def _field(panel: Mapping[str, Any], title: str) -> Mapping[str, Any]:
    field = dict(panel["fieldConfig"]["defaults"])
    for override in panel["fieldConfig"]["overrides"]:
        if override["matcher"]["options"] == title:
            field |= {item["id"]: item["value"] for item in override["properties"]}
    return field


def _edges(fields: Sequence[Mapping[str, Any]], pixels: float) -> list[float]:
    widths = [field.get("custom.width") for field in fields]
    rest = max(0.0, pixels - sum(width for width in widths if width)) / max(1, widths.count(None))
    edges = [0.0]
    for width in widths:
        edges.append(edges[-1] + (width or rest) / pixels)
    return [edge / edges[-1] for edge in edges]


def _sorted(panel: Mapping[str, Any], rows: list[Row], names: Mapping[str, str]) -> list[Row]:
    for by in panel["options"].get("sortBy", ()):
        field = names[by["displayName"]]
        rows = sorted(rows, key=lambda row: float(row.get(field, 0)), reverse=by["desc"])
    return rows
