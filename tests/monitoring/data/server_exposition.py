"""A tick as SGLang's own /metrics: a recorded answer of a real 0.5.13.post1 server, with what load changes set anew.

Names as Prometheus stores them: the scrape configuration turns `sglang:` into `sglang_`. Of hundreds of series only those that a
dashboard reads: nobody would ask for the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ddtree_ops.units.exposition import Labels, Sample, parse_samples
from tests.monitoring.data.walk import WAITS, Tick

RECORDED = Path(__file__).with_name("sglang.metrics.txt")
DASHBOARDS = Path(__file__).parents[3] / "dashboards" / "grafana"
# Mean seconds while requests hardly wait, wait a little, and wait long, in the order of WAITS.
MEANS = {
    "sglang_time_to_first_token_seconds": (0.35, 1.1, 7.0),
    "sglang_e2e_request_latency_seconds": (9.0, 14.0, 38.0),
    "sglang_queue_time_seconds": (0.004, 0.3, 6.0),
}
# Per token of an answer in parts, likewise.
TOKENS_OF_AN_ANSWER = 420.0
BETWEEN = {"sglang_inter_token_latency_seconds": (0.014, 0.019, 0.045)}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an exposition."""

    name: str
    labels: Labels
    value: float


@cache
def recorded() -> tuple[Sample, ...]:
    """The recorded samples that dashboards read, renamed."""
    texts = (path.read_text() for path in DASHBOARDS.glob("*.json"))
    read = {name for text in texts for name in re.findall(r"\bsglang_\w+", text)}
    lines = parse_samples(RECORDED.read_bytes(), "sglang:")
    renamed = (Sample(sample.name.replace(":", "_"), sample.labels, sample.value) for sample in lines)
    return tuple(sample for sample in renamed if sample.name in read)


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


def _values(tick: Tick) -> Mapping[str, float]:
    totals = tick.totals
    return {
        "sglang_generation_tokens_total": round(totals.generated),
        "sglang_prompt_tokens_total": round(totals.prompt),
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
        each = zip(WAITS, BETWEEN[family], strict=True)
        return sum(_part(suffix, labels, TOKENS_OF_AN_ANSWER * totals.waits[wait], mean) for wait, mean in each)
    if sample.name == "sglang_cuda_graph_passes_total":
        return round(totals.fallbacks if labels["mode"].endswith("none") else totals.steps - totals.fallbacks)
    if sample.name == "sglang_http_responses_total" and labels["endpoint"] == "/generate":
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
