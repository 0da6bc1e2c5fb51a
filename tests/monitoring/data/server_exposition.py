"""A tick as SGLang's own /metrics: a recorded answer of a real 0.5.13.post1 server, with what load changes set anew.

Names as Prometheus stores them: the scrape configuration turns `sglang:` into `sglang_`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ddtree_ops.units.exposition import Labels, Sample, parse_samples
from tests.monitoring.data.exporter_facts import speculation_samples
from tests.monitoring.data.walk import WAITS, Tick, running

RECORDED = Path(__file__).with_name("sglang.metrics.txt")
MODEL = "/models/tiny/target"
POOL_TOKENS = 1_450_000.0
# Mean seconds while requests hardly wait, wait a little, and wait long, in the order of WAITS.
MEANS = {
    "sglang_time_to_first_token_seconds": (0.35, 1.1, 7.0),
    "sglang_e2e_request_latency_seconds": (9.0, 14.0, 38.0),
    "sglang_queue_time_seconds": (0.004, 0.3, 6.0),
    "sglang_per_stage_req_latency_seconds": (0.05, 0.11, 0.4),
}
TOKENS = {
    "sglang_prompt_tokens_histogram": 1300.0,
    "sglang_uncached_prompt_tokens_histogram": 800.0,
    "sglang_generation_tokens_histogram": 420.0,
}
# Per token of an answer in parts, likewise.
BETWEEN = {"sglang_inter_token_latency_seconds": (0.014, 0.019, 0.045)}
OURS = "ddtree_ops_speculation_"
LATER = "sglang_ddtree_"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an exposition."""

    name: str
    labels: Labels
    value: float


@cache
def recorded() -> tuple[Sample, ...]:
    """The recorded samples, renamed. Routing keys, which nothing here looks at, are left out."""
    lines = parse_samples(RECORDED.read_bytes(), "sglang:")
    return tuple(
        Sample(sample.name.replace(":", "_"), sample.labels, sample.value) for sample in lines if "routing_key" not in sample.name
    )


def recorded_names() -> frozenset[str]:
    """Every name in the recorded answer, as Prometheus stores it."""
    return frozenset(sample.name.replace(":", "_") for sample in parse_samples(RECORDED.read_bytes(), "sglang:"))


def server_lines(tick: Tick) -> Iterator[Line]:
    """What a scrape of the server gives; nothing while the port refuses."""
    if not tick.now.serving:
        return
    values = _values(tick)
    for sample in recorded():
        yield Line(sample.name, sample.labels, _value(tick, sample, values))
    names = {"acceptance_length_tokens": "acceptance_length"}
    for ours in speculation_samples(tick):
        name = ours.metric.name.removeprefix(OURS)
        if name not in ("budget_nodes", "block_tokens"):
            labels = dict(zip(ours.metric.labels, ours.labels, strict=True)) | ({"le": ours.le} if ours.le else {})
            labels.pop("port")
            kept = tuple(sorted({**labels, "model_name": MODEL}.items()))
            yield Line(LATER + names.get(name, name) + ours.suffix, kept, ours.value)


def _values(tick: Tick) -> Mapping[str, float]:
    now, totals = tick.now, tick.totals
    used = round(now.kv_used * POOL_TOKENS)
    return {
        "sglang_num_running_reqs": running(now),
        "sglang_num_queue_reqs": round(now.queued),
        "sglang_token_usage": now.kv_used,
        "sglang_full_token_usage": now.kv_used,
        "sglang_max_total_num_tokens": POOL_TOKENS,
        "sglang_num_used_tokens": used,
        "sglang_kv_used_tokens": used,
        "sglang_kv_evictable_tokens": round((POOL_TOKENS - used) * 0.4),
        "sglang_kv_available_tokens": round((POOL_TOKENS - used) * 0.6),
        "sglang_gen_throughput": now.load * tick.host.capacity,
        "sglang_generation_tokens_total": round(totals.generated),
        "sglang_prompt_tokens_total": round(totals.prompt),
        "sglang_num_requests_total": round(totals.requests),
        "sglang_spec_verify_calls_total": round(totals.request_steps),
    }


def _value(tick: Tick, sample: Sample, values: Mapping[str, float]) -> float:
    totals, labels = tick.totals, dict(sample.labels)
    family, _, suffix = sample.name.rpartition("_")
    if sample.name in values:
        return values[sample.name]
    if family in MEANS:
        return sum(_part(suffix, labels, totals.waits[wait], mean) for wait, mean in zip(WAITS, MEANS[family], strict=True))
    if family in BETWEEN:
        tokens = TOKENS["sglang_generation_tokens_histogram"]
        each = zip(WAITS, BETWEEN[family], strict=True)
        return sum(_part(suffix, labels, tokens * totals.waits[wait], mean) for wait, mean in each)
    if family in TOKENS:
        return _part(suffix, labels, totals.requests, TOKENS[family])
    if sample.name == "sglang_cuda_graph_passes_total":
        return round(totals.fallbacks if labels["mode"].endswith("none") else totals.steps - totals.fallbacks)
    if sample.name == "sglang_realtime_tokens_total":
        return round(totals.generated if labels["mode"] == "decode" else totals.prompt * 0.6)
    if sample.name.startswith("sglang_http_") and sample.name.endswith("_total") and labels["endpoint"] == "/generate":
        return round(totals.requests)
    return sample.value


def _part(suffix: str, labels: Mapping[str, str], count: float, mean: float) -> float:
    if suffix == "sum":
        return count * mean
    if suffix == "count" or labels["le"] == "+Inf":
        return float(round(count))
    return float(round(count * _below(float(labels["le"]), mean)))


@cache
def _below(bound: float, mean: float) -> float:
    """The part of a log-normal distribution of this mean, spread 0.6, that lies below a bound."""
    if bound <= 0:
        return 0.0
    return 0.5 * (1 + math.erf((math.log(bound / mean) + 0.18) / (0.6 * math.sqrt(2))))
