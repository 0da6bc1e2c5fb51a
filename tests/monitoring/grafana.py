"""A dashboard's queries as Grafana would send them: variables filled in, ranges and windows worked out.

Rules: grafana.com/docs, "Prometheus template variables" ($__rate_interval is the larger of $__interval + scrape interval and four
scrape intervals; several values become a regular expression) and "Global variables" ($__range is the time range).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.monitoring.data.scenario import END, START, STEP
from tests.monitoring.data.store import Series, Store

FOLDER = Path(__file__).parents[2] / "dashboards/grafana"
DASHBOARDS = tuple(sorted(path.name for path in FOLDER.glob("*.json")))
_LABEL_VALUES = re.compile(r"label_values\((.+), *([a-z_]+)\)")
_LEFT = re.compile(r"\$\{?[A-Za-z_]+\}?")


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a dashboard. `instant` is asked at the end only; `legend` is as written."""

    owner: str
    kind: str
    expr: str
    instant: bool
    legend: str = ""
    ref: str = ""
    interval: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A time range, and what is chosen at the top. `points` are pixels: one point each at most."""

    begin: float = START
    end: float = END
    points: int = 720
    chosen: Mapping[str, str] = field(default_factory=dict)

    def step(self, least: str = "") -> float:
        """$__interval: what the range comes to per point, never less than the scrape interval and the query's own least."""
        return max(STEP, (self.end - self.begin) / self.points, 60 * float(least.removesuffix("m") or 0))

    def fill(self, expr: str, least: str = "") -> str:
        """The query as Prometheus gets it. Raises AssertionError if a variable is left."""
        step = self.step(least)
        window = max(step + STEP, 4 * STEP)
        known = {
            "__rate_interval": f"{window:.0f}s",
            "__interval": f"{step:.0f}s",
            "__range": f"{self.end - self.begin:.0f}s",
            **self.chosen,
        }
        for name in sorted(known, key=len, reverse=True):
            expr = re.sub(rf"\$\{{{name}\}}|\${name}\b", lambda _, name=name: known[name], expr)  # type: ignore[misc]
        left = _LEFT.search(expr)
        assert left is None, f"{left and left.group()} in {expr} is no variable"
        return expr

    def ask(self, store: Store, query: Query) -> tuple[Series, ...]:
        """What the query answers in this view."""
        expr = self.fill(query.expr, query.interval)
        if query.instant:
            return store.instant(expr, self.end)
        return store.range(expr, self.begin, self.end, self.step(query.interval))


def load(name: str) -> dict[str, Any]:
    """A committed dashboard."""
    found: dict[str, Any] = json.loads((FOLDER / name).read_text())
    return found


def panels(dashboard: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All panels, those of collapsed rows too, without the rows."""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            yield from panel.get("panels", ())
        else:
            yield panel


def queries(dashboard: Mapping[str, Any]) -> Iterator[Query]:
    """Every query of panels and annotations."""
    for panel in panels(dashboard):
        for target in panel.get("targets", ()):
            instant = bool(target.get("instant"))
            legend, interval = target.get("legendFormat", ""), target.get("interval", "")
            yield Query(panel["title"], panel["type"], target["expr"], instant, legend, target["refId"], interval)
    for mark in dashboard["annotations"]["list"]:
        yield Query(f"annotation {mark['name']}", "annotation", mark["expr"], False)


def resolved(dashboard: Mapping[str, Any], store: Store, view: View) -> Iterator[tuple[View, dict[str, tuple[str, ...]]]]:
    """The view with every variable chosen, and the values that each offers: All of them, or each value in turn where one is."""
    offered: dict[str, tuple[str, ...]] = {}
    alone = ""
    for variable in dashboard["templating"]["list"]:
        if variable["type"] != "query":
            continue
        name = variable["name"]
        match = _LABEL_VALUES.fullmatch(variable["query"]["query"])
        assert match, f"{name}: not label_values()"
        offered[name] = store.label_values(view.fill(match[1]), match[2], view.begin, view.end)
        if variable["includeAll"]:
            view = replace(view, chosen={**view.chosen, name: any_of(offered[name])})
        else:
            alone = name
    for value in offered[alone] if alone else ("",):
        yield replace(view, chosen={**view.chosen, alone: value} if alone else view.chosen), offered


def any_of(values: Sequence[str]) -> str:
    """Several values as Grafana writes them into a regular expression of Prometheus."""
    return "(" + "|".join(re.sub(r"([.*+?()|\[\]{}^$\\])", r"\\\\\1", value) for value in values) + ")"
