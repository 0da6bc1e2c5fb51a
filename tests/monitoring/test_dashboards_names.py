"""What the dashboards name exists, and averages are rates of counters."""

from __future__ import annotations

import re
from functools import cache

import pytest

from ddtree_ops.exporter.catalogue import BY_NAME
from ddtree_ops.exporter.metric import Type
from tests.monitoring.data.server_exposition import recorded_names
from tests.monitoring.grafana import DASHBOARDS, load, queries

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NAME = re.compile(r"\b(?:ddtree_ops|sglang)_[a-z0-9_]+\b|\bup\b")
_WINDOW = re.compile(r"\[([^\]]*)\]")
_GAUGES = re.compile(r"sglang_(?:spec_accept\w*|gen_throughput|cache_hit_rate|is_cuda_graph)\b")
SUFFIXES = ("_bucket", "_sum", "_count")


@cache
def known_names() -> frozenset[str]:
    names = {name for name, metric in BY_NAME.items() if metric.type is not Type.HISTOGRAM}
    histograms = (name for name, metric in BY_NAME.items() if metric.type is Type.HISTOGRAM)
    return frozenset({"up", *names, *(name + suffix for name in histograms for suffix in SUFFIXES), *recorded_names()})


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_metric_is_known(name: str) -> None:
    dashboard = load(name)
    asked = [(query.owner, query.expr) for query in queries(dashboard)]
    variables = [variable for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    asked += [(variable["name"], variable["query"]["query"]) for variable in variables]
    found = {(owner, metric) for owner, expr in asked for metric in _NAME.findall(_STRING.sub("", expr))}
    assert len(found) > 10
    assert {(owner, metric) for owner, metric in found if metric not in known_names()} == set()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_averages_are_rates(name: str) -> None:
    for query in queries(load(name)):
        windows = set(_WINDOW.findall(_STRING.sub("", query.expr)))
        assert windows <= {"$__rate_interval", "$__range"}, f"{query.owner}: {windows}"
        assert not _GAUGES.search(query.expr), f"{query.owner}: a gauge that falls back to 0 when idle"
