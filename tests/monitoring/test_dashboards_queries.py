"""Every query of every dashboard is asked of a real Prometheus that holds three hours of a small fleet, and what somebody sees
who opens one at a certain moment is the truth.

All that reads `store` is in this file: tests are spread over processes by file, and each process would fill a store of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ddtree_ops.exporter.catalogue import METRICS
from ddtree_ops.exporter.metric import Type
from tests.monitoring.data.fleet import NEW
from tests.monitoring.data.scenario import END, START
from tests.monitoring.data.store import QueryFailed, Series, Store
from tests.monitoring.grafana import DASHBOARDS, View, load, queries, resolved
from tests.monitoring.test_dashboards_names import known_names

pytestmark = pytest.mark.processes

ALARMS = ("Not serving", "Failures", "GPUs missing", "Exporters silent", "Drift", "Queued")


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


def test_data_has_every_metric_of_the_catalogue(store: Store) -> None:
    names = store.names()
    # Those of a controller's service discovery are of no host.
    expected = {metric.name for metric in METRICS if metric.collector != "discovery" and metric.type is not Type.HISTOGRAM}
    assert expected - names == set()
    assert {name for name in names if name.startswith("ddtree_ops_")} <= known_names()


def _ask(store: Store, name: str, panel: str, begin: float, end: float, ref: str = "A", **chosen: str) -> tuple[Series, ...]:
    """A query of a panel between two minutes of the scenario, with everything chosen but what is said."""
    dashboard = load(name)
    view, _ = next(resolved(dashboard, store, View(START + begin * 60, START + end * 60)))
    view = replace(view, chosen={**view.chosen, **chosen})
    query = next(query for query in queries(dashboard) if (query.owner, query.ref) == (panel, ref))
    return view.ask(store, query)


def _number(store: Store, name: str, panel: str, begin: float, end: float) -> float:
    (series,) = _ask(store, name, panel, begin, end)
    return series.points[-1][1]


def test_all_is_green_while_all_is_well(store: Store) -> None:
    seen = {panel: _number(store, "ddtree-fleet.json", panel, 0, 55) for panel in ALARMS}
    assert seen == dict.fromkeys(ALARMS, 0.0)
    assert _number(store, "ddtree-fleet.json", "Serving", 0, 55) == 2


def test_the_end_shows_what_is_wrong(store: Store) -> None:
    seen = {panel: _number(store, "ddtree-fleet.json", panel, 90, 180) for panel in ALARMS}
    assert seen == {"Not serving": 1, "Failures": 3, "GPUs missing": 1, "Exporters silent": 0, "Drift": 1, "Queued": 0}


@pytest.mark.parametrize(
    ("minute", "expected"),
    [
        (20, (10, 10)),
        (30.5, (10, 0)),
        (34, (10, 6)),
        (37, (10, 8)),
        (95.5, (10, 2)),
        (150.5, (2, 10)),
        (155, (6, 10)),
        (180, (11, 10)),
    ],
)
def test_states(store: Store, minute: float, expected: tuple[int, int]) -> None:
    series = _ask(store, "ddtree-fleet.json", "What each server did", minute - 0.5, minute)
    last = {item.labels["host"]: item.points[-1] for item in series}
    assert (last["b300"][1], last["ct200"][1]) == expected
    assert {at for at, _ in last.values()} == {START + minute * 60}


def test_acceptance_is_a_mean_of_what_was_decoded_and_absent_while_idle(store: Store) -> None:
    before, idle = ((104, 129), (134, 149))
    (series,) = _ask(store, "ddtree-fleet.json", "Acceptance length", *before, host="ct200")
    assert all(4.6 < value < 5.2 for _, value in series.points)
    assert _ask(store, "ddtree-fleet.json", "Acceptance length", *idle, host="ct200") == ()
    # Tokens are 0 then and not unknown: the server runs.
    (series,) = _ask(store, "ddtree-fleet.json", "Generated tokens", *idle, host="ct200")
    assert {value for _, value in series.points} == {0.0}


def test_acceptance_by_budget_and_release(store: Store) -> None:
    found = {
        item.labels["budget"]: item.points
        for item in _ask(store, "ddtree-speculation.json", "Acceptance length by budget", 40, 59)
    }
    assert {budget: round(points[-1][1]) for budget, points in found.items()} == {"22": 5, "64": 6}
    series = _ask(store, "ddtree-speculation.json", "Committed tokens", 0, 180, release=NEW)
    assert {item.labels["release"] for item in series} == {NEW}
    assert min(item.points[0][0] for item in series) >= START + 30 * 60


def test_fallbacks_show_where_graphs_did_not_fit(store: Store) -> None:
    series = _ask(store, "ddtree-speculation.json", "Steps without a CUDA graph", 65, 84)
    last = {item.labels["host"]: item.points[-1][1] for item in series}
    assert last["b300"] == pytest.approx(0.22, abs=0.01)
    assert last["ct200"] < 0.01


def test_steps_parts_are_seconds_of_one_step(store: Store) -> None:
    series = _ask(store, "ddtree-speculation.json", "A step's parts", 40, 59, host="ct200")
    parts = {item.labels["part"]: item.points[-1][1] for item in series}
    assert max(parts, key=parts.__getitem__) == "verify"
    (whole,) = _ask(store, "ddtree-speculation.json", "A step", 40, 59, host="ct200")
    assert sum(parts.values()) == pytest.approx(whole.points[-1][1], rel=0.01)


def test_each_failure_stands_in_one_bar(store: Store) -> None:
    series = _ask(store, "ddtree-failures.json", "Root failures", 0, 180, ref="A")
    assert series[0].points[-1][1] == 3
    dashboard = load("ddtree-failures.json")
    view, _ = next(resolved(dashboard, store, View()))
    bars = next(query for query in queries(dashboard) if query.owner == "Root failures" and not query.instant)
    counted = {item.labels["kind"]: sum(value for _, value in item.points) for item in view.ask(store, bars)}
    assert counted == {"gpu_lost": 2, "graph_token_count_mismatch": 1}


def test_failures_come_with_cause_and_fix(store: Store) -> None:
    series = _ask(store, "ddtree-failures.json", "Root failures, newest first", 0, 180, ref="C")
    assert all(item.labels["cause"] and item.labels["fix"] for item in series)
    when = {
        item.labels["kind"]: item.points[-1][1] / 1000
        for item in _ask(store, "ddtree-failures.json", "Root failures, newest first", 0, 180)
    }
    assert when == {"gpu_lost": START + 153 * 60, "graph_token_count_mismatch": START + 95 * 60}


def test_marks_stand_where_things_happened(store: Store) -> None:
    for name, minutes in (("annotation Deploys", {20, 21, 39}), ("annotation Failures", {95, 150, 153})):
        series = _ask(store, "ddtree-fleet.json", name, 0, 180, ref="")
        times = {value / 1000 for item in series for _, value in item.points}
        assert {(at - START) / 60 for at in times if START <= at <= END} == minutes


def test_a_release_narrows_the_hosts(store: Store) -> None:
    dashboard = load("ddtree-fleet.json")
    view, _ = next(resolved(dashboard, store, View()))
    host = next(variable for variable in dashboard["templating"]["list"] if variable["name"] == "host")
    selector = host["query"]["query"].removeprefix("label_values(").rpartition(",")[0]
    narrowed = replace(view, chosen={**view.chosen, "release": NEW})
    assert store.label_values(narrowed.fill(selector), "host", START, END) == ("ct200",)
