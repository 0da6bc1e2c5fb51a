"""What of a server's own /metrics becomes ours: the plugin's real exposition, both spellings, ranks, and what is missing."""

from __future__ import annotations

import importlib.util
import tracemalloc
from pathlib import Path
from types import ModuleType

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ddtree_ops.exporter.metric import Type
from ddtree_ops.exporter.served import TooMany, samples

PLUGIN = Path(__file__).resolve().parents[2] / "deploy/runtime/sglang_ddtree/src/sglang_ddtree/runtime/metrics.py"
RANKS = 'engine_type="unified",model_name="/models/tiny/target",moe_ep_rank="0",pp_rank="0"'


def told(*lines: str) -> dict[tuple[str, ...], float]:
    """Name (without the prefix), le and labels but the port, to the value."""
    found = samples("\n".join(lines).encode(), 30000)
    return {
        (one.metric.name.removeprefix("ddtree_ops_") + one.suffix, *([one.le] if one.le else []), *one.labels[1:]): one.value
        for one in found
    }


def plugin() -> ModuleType:
    """The plugin's own module: it needs nothing of SGLang."""
    spec = importlib.util.spec_from_file_location("plugin_metrics", PLUGIN)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_plugins_own_exposition_is_read_whole() -> None:
    module, registry = plugin(), CollectorRegistry()
    metrics = module.PrometheusMetrics({"model_name": "kimi", "tp_rank": "0"}, 4, registry)
    metrics.record(module.Step((3, 1), 14, fell_back=False))
    metrics.record(module.Step((4,), 7, fell_back=True))
    metrics.record_times((0.1, 0.2, 0.3, 0.4))
    found = told(generate_latest(registry).decode())
    assert found["speculation_verify_steps_total",] == 2
    assert found["speculation_committed_tokens_total",] == 8
    assert found["speculation_accepted_tokens_total",] == 5
    assert found["speculation_tree_nodes_total",] == 24
    assert found["speculation_graph_fallbacks_total",] == 1
    assert found["speculation_step_seconds_total", "verify"] == pytest.approx(0.3)
    lengths = {key[1]: value for key, value in found.items() if key[0] == "speculation_acceptance_length_tokens_bucket"}
    assert lengths == {"1.0": 1, "2.0": 1, "3.0": 2, "4.0": 3, "+Inf": 3}
    assert found["speculation_acceptance_length_tokens_sum",] == 8


@pytest.mark.parametrize("prefix", ["sglang:", "sglang_"])
def test_sglangs_families_in_both_spellings(prefix: str) -> None:
    found = told(
        f'{prefix}num_running_reqs{{{RANKS},tp_rank="0"}} 3.0',
        f'{prefix}num_running_reqs_offline_batch{{{RANKS},tp_rank="0"}} 9.0',
        f'{prefix}token_usage{{{RANKS},tp_rank="0"}} 0.25',
        f'{prefix}generation_tokens_total{{engine_type="unified"}} 40.0',
    )
    assert found == {
        ("server_requests_running",): 3,
        ("server_kv_pool_used_ratio",): 0.25,
        ("server_generated_tokens_total",): 40,
    }


def test_ranks_of_one_step_count_once_and_independent_ones_add_up() -> None:
    lines = [
        f'sglang:num_queue_reqs{{dp_rank="{dp}",tp_rank="{tp}",pid="{dp}{tp}"}} {2 + dp}' for dp in (0, 1) for tp in range(4)
    ]
    usage = [f'sglang:token_usage{{dp_rank="{dp}",tp_rank="0"}} 0.{dp + 3}' for dp in (0, 1)]
    steps = [f'sglang_ddtree_verify_steps_total{{tp_rank="{tp}",pp_rank="0"}} {100 - tp}' for tp in range(8)]
    buckets = [
        f"sglang_ddtree_acceptance_length_{rest} 5"
        for tp in range(2)
        for rest in (f'bucket{{le="+Inf",tp_rank="{tp}"}}', f'count{{tp_rank="{tp}"}}', f'sum{{tp_rank="{tp}"}}')
    ]
    found = told(*lines, *usage, *steps, *buckets)
    assert found["server_requests_queued",] == 5
    assert found["server_kv_pool_used_ratio",] == 0.4
    assert found["speculation_verify_steps_total",] == 100
    assert found["speculation_acceptance_length_tokens_count",] == 5


def test_priorities_are_parts_of_the_total() -> None:
    assert told(
        'sglang:num_running_reqs{priority="",tp_rank="0"} 5',
        'sglang:num_running_reqs{priority="1",tp_rank="0"} 2',
        'sglang:num_running_reqs{priority="9",tp_rank="0"} 3',
    ) == {("server_requests_running",): 5}


@pytest.mark.parametrize(
    "line",
    [
        "sglang:num_running_reqs NaN",
        "sglang:num_running_reqs -1",
        "sglang:num_running_reqs +Inf",
        "sglang:num_running_reqs ok",
        "sglang:token_usage 7",
        'sglang_ddtree_acceptance_length_bucket{le="1.0"} 5',
        'sglang_ddtree_acceptance_length_bucket{le="NaN"} 5',
        'sglang_ddtree_step_seconds_total{part="prompt text"} 5',
        "",
    ],
)
def test_what_is_not_there_gives_no_sample(line: str) -> None:
    assert told(line) == {}


def test_a_histogram_is_whole_or_absent() -> None:
    whole = [
        'sglang_ddtree_acceptance_length_bucket{le="1.0"} 1',
        'sglang_ddtree_acceptance_length_bucket{le="+Inf"} 2',
        "sglang_ddtree_acceptance_length_count 2",
        "sglang_ddtree_acceptance_length_sum 5",
    ]
    assert len(told(*whole)) == 4
    for missing in (1, 2, 3):
        assert told(*(line for place, line in enumerate(whole) if place != missing)) == {}
    many = [f'sglang_ddtree_acceptance_length_bucket{{le="{bound}"}} 1' for bound in range(200)]
    assert told(*many, *whole) == {}


def test_samples_fit_their_families() -> None:
    body = b'sglang:num_running_reqs 1\nsglang_ddtree_acceptance_length_bucket{le="+Inf"} 2\n'
    body += b"sglang_ddtree_acceptance_length_count 2\nsglang_ddtree_acceptance_length_sum 5\n"
    for one in samples(body, 30000):
        assert len(one.labels) == len(one.metric.labels)
        assert (one.le is not None) == (one.metric.type is Type.HISTOGRAM and one.suffix == "_bucket")


def test_a_part_of_too_many_series_is_no_number() -> None:
    lines = b"".join(b'sglang:num_running_reqs{dp_rank="%d"} 1\n' % rank for rank in range(2049))
    assert [one.value for one in samples(lines[: lines.rindex(b"sglang:")], 30000)] == [2048]
    with pytest.raises(TooMany, match="port 30000"):
        list(samples(lines, 30000))


def test_a_body_of_short_lines_takes_no_memory_of_its_own() -> None:
    body = b"s\n" * (1 << 20) + b"sglang:num_running_reqs 3\n"
    tracemalloc.start()
    try:
        assert [one.value for one in samples(body, 30000)] == [3]
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
