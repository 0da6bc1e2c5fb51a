"""Every query of every dashboard is asked of a real Prometheus that holds three hours of a small fleet."""

from __future__ import annotations

import math

import pytest

from tests.monitoring.data.store import QueryFailed, Store
from tests.monitoring.grafana import DASHBOARDS, View, load, queries, resolved


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_query_returns_series(store: Store, name: str) -> None:
    dashboard = load(name)
    views = [view for view, _ in resolved(dashboard, store, View())]
    problems: list[str] = []
    for query in queries(dashboard):
        try:
            answers = [series for view in views for series in view.ask(store, query)]
        except QueryFailed as error:
            problems.append(f"{query.owner} {query.ref}: {error}")
            continue
        if not any(math.isfinite(value) for series in answers for _, value in series.points):
            problems.append(f"{query.owner} {query.ref}: nothing for {views[0].fill(query.expr, query.interval)}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_variables_offer_what_there_is(store: Store, name: str) -> None:
    _, offered = next(resolved(load(name), store, View()))
    assert offered["model"] == ("kimi-k2.6",)
    assert set(offered["host"]) == {"b300", "ct200"}
    assert len(offered["release"]) == 3
