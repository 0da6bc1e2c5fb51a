"""Metrics by their names, so that averages come from rate(). Needs prometheus_client, which the controller doesn't."""

from __future__ import annotations

import pytest

from sglang_ddtree.runtime.metrics import NoMetrics, PrometheusMetrics, Step

prometheus = pytest.importorskip("prometheus_client")


def test_names_and_values() -> None:
    registry = prometheus.CollectorRegistry()
    metrics = PrometheusMetrics({"model_name": "m"}, 8, registry)
    metrics.record(Step((3, 1), proposed=62, fell_back=False))
    metrics.record(Step((8, 2), proposed=62, fell_back=True))
    metrics.record_times([0.001, 0.002, 0.003, 0.004])

    def value(name: str, **labels: str) -> float | None:
        found: float | None = registry.get_sample_value(f"sglang_ddtree_{name}", {"model_name": "m", **labels})
        return found

    assert value("verify_steps_total") == 2
    assert value("committed_tokens_total") == 14
    assert value("accepted_tokens_total") == 10
    assert value("proposed_tokens_total") == 124
    assert value("tree_nodes_total") == 128
    assert value("graph_fallbacks_total") == 1
    assert value("acceptance_length_sum") == 14
    assert value("acceptance_length_count") == 4
    assert value("acceptance_length_bucket", le="2.0") == 2
    assert value("step_seconds_total", part="verify") == 0.003


def test_off() -> None:
    NoMetrics().record(Step((1,), 31, False))
