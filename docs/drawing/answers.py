"""The answers of a panel's queries, with their names in the legend."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.monitoring.data.store import Series, Store
from tests.monitoring.grafana import Query, View

_LABEL = re.compile(r"\{\{ *([a-z_]+) *\}\}")


@dataclass(frozen=True, slots=True)
class Named:
    """A series and what the legend calls it; `ref` is the letter of its query."""

    name: str
    ref: str
    series: Series


def answers(panel: Mapping[str, Any], view: View, store: Store) -> tuple[Named, ...]:
    """Every series of a panel, in order of queries and then of names."""
    found: list[Named] = []
    for target in panel.get("targets", ()):
        query = Query(
            panel["title"], panel["type"], target["expr"], bool(target.get("instant")), interval=target.get("interval", "")
        )
        named = [Named(_name(target["legendFormat"], item), target["refId"], item) for item in view.ask(store, query)]
        found.extend(sorted(named, key=lambda item: item.name))
    return tuple(found)


def marks(dashboard: Mapping[str, Any], view: View, store: Store) -> Sequence[tuple[float, str]]:
    """The times and colours of the annotations within the view."""
    found: set[tuple[float, str]] = set()
    for mark in dashboard["annotations"]["list"]:
        for series in view.ask(store, Query(mark["name"], "annotation", mark["expr"], False)):
            found |= {(value / 1000, mark["iconColor"]) for _, value in series.points}
    return sorted((at, color) for at, color in found if view.begin <= at <= view.end)


def _name(legend: str, series: Series) -> str:
    if legend == "__auto":
        return ", ".join(f"{name}={value}" for name, value in series.labels.items() if name != "__name__")
    return _LABEL.sub(lambda match: series.labels.get(match[1], ""), legend)
