"""What is the same in all dashboards: data source, colours, units, thresholds, and the base of every panel."""

from __future__ import annotations

from typing import Any, TypeVar

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus as prom
from grafana_foundation_sdk.cog import builder as cog
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
HEATMAP = PromQueryFormat.HEATMAP
GOOD, WARN, BAD, CALM, QUIET = "green", "orange", "red", "blue", "gray"


def thresholds(*steps: tuple[float | None, str]) -> cog.Builder[model.ThresholdsConfig]:
    """Colours from values on; the first begins at None, which is minus infinity."""
    return (
        build.ThresholdsConfig()
        .mode(model.ThresholdsMode.ABSOLUTE)
        .steps([model.Threshold(value=value, color=color) for value, color in steps])
    )


BAD_FROM_ONE = thresholds((None, GOOD), (1, BAD))
WARN_FROM_ONE = thresholds((None, GOOD), (1, WARN))
NEUTRAL = thresholds((None, CALM))


def query(expr: str, legend: str = "", ref: str = "A") -> prom.Dataquery:
    """Over the time range."""
    return prom.Dataquery().expr(expr).ref_id(ref).legend_format(legend or "__auto").range().datasource(SOURCE)


def now(expr: str, legend: str = "", ref: str = "A") -> prom.Dataquery:
    """At the end of the time range only."""
    return prom.Dataquery().expr(expr).ref_id(ref).legend_format(legend or "__auto").instant().datasource(SOURCE)


def cells(expr: str, ref: str) -> prom.Dataquery:
    """At the end of the time range, as rows of a table."""
    return now(expr, "", ref).format(PromQueryFormat.TABLE)


P = TypeVar("P", bound=Any)


def base(panel: P, title: str, description: str, *queries: prom.Dataquery) -> P:
    """What every panel has: a title, words for somebody who sees it for the first time, the data source, its queries."""
    panel = panel.title(title).description(description).datasource(SOURCE)
    for item in queries:
        panel = panel.with_target(item)
    return panel
