"""Numbers and colours as Grafana shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

COLORS = {
    "green": "#73bf69",
    "orange": "#ff9830",
    "red": "#f2495c",
    "blue": "#5794f2",
    "purple": "#b877d9",
    "gray": "#6b6f76",
    "super-light-blue": "#c0d8ff",
    "light-blue": "#8ab8ff",
    "semi-dark-blue": "#3274d9",
    "dark-blue": "#1f60c4",
    "transparent": "none",
}
PALETTE = ("#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0", "#508642", "#cca300")
PLAIN = {"celsius": " °C", "none": "", "short": "", "ops": " ops/s", "reqps": " req/s"}


def text_of(value: float, field: Mapping[str, Any], now: float) -> str:
    """A value with its mapping, unit and decimals."""
    if (found := mapped(value, field)) is not None:
        return str(found["text"])
    unit, decimals = field.get("unit", "none"), field.get("decimals")
    if unit == "percentunit":
        return f"{value * 100:.{int(decimals or 0)}f}%"
    if unit == "s":
        return _seconds(value)
    if unit == "dateTimeFromNow":
        return f"{_seconds(now - value / 1000)} ago"
    if unit == "dateTimeAsIso":
        return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    suffix = unit.removeprefix("suffix:") if unit.startswith("suffix:") else " kW" if unit == "watt" else PLAIN[unit]
    return _plain(value / 1000 if unit == "watt" else value, decimals, short=unit == "short") + suffix


def mapped(value: float, field: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The text and colour that a value mapping gives, if one does."""
    for item in field.get("mappings", ()):
        if (found := item["options"].get(f"{value:g}")) is not None:
            return dict(found)
    return None


def color_of(value: float, field: Mapping[str, Any]) -> str:
    """The colour of a value: of its mapping, else of the thresholds."""
    if (found := mapped(value, field)) is not None:
        return COLORS[found["color"]]
    steps = field["thresholds"]["steps"]
    name = next(step["color"] for step in reversed(steps) if step["value"] is None or value >= step["value"])
    return COLORS[name]


def _plain(value: float, decimals: int | None, *, short: bool) -> str:
    for bound, letter in ((1e9, " Bil"), (1e6, " Mil"), (1e3, " K")) if short else ():
        if abs(value) >= bound:
            return f"{value / bound:.2f}{letter}"
    if decimals is not None:
        return f"{value:.{int(decimals)}f}"
    return f"{value:.0f}" if abs(value) >= 100 or value == math.floor(value) else f"{value:.3g}"


def _seconds(value: float) -> str:
    for bound, letter in ((86400, "d"), (3600, "h"), (60, "min")):
        if abs(value) >= bound:
            return f"{value / bound:.1f} {letter}"
    return f"{value:.1f} s" if abs(value) >= 1 or value == 0 else f"{value * 1000:.3g} ms"
