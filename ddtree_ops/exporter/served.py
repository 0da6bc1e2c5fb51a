"""What a server's own /metrics says, as samples of ours: over all of its ranks, and nothing for what isn't there.

SGLang's names start with `sglang:`; a Prometheus between us and it may have made that `sglang_`. Which families there are:
sglang/srt/metrics/collector.py; the plugin's: sglang_ddtree/runtime/metrics.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.catalogue import server, speculation
from ddtree_ops.exporter.metric import Metric, Sample
from ddtree_ops.units.exposition import Labels, parse_samples
from ddtree_ops.units.exposition import Sample as Line
from ddtree_ops.units.tree_counters import PREFIX

# Ranks that compute one and the same step (with --enable-metrics-for-all-schedulers each of them reports it), and the process.
_SAME_STEP = frozenset({"tp_rank", "pp_rank", "moe_ep_rank", "pid"})
_SGLANG = ("sglang:", "sglang_")
_PARTS = ("draft", "build", "verify", "commit")
_LENGTH = PREFIX + "acceptance_length"
_MOST_BUCKETS = 66
_MOST_SERIES = 2048  # that are read: 16 ranks of a host have 1400 with the largest histogram
_MOST = 2.0**63


class TooMany(DdtreeOpsError):
    """More series than are read: a sum over some of them would be no number of the server's."""


_COUNTERS: Mapping[str, Metric] = {
    f"{PREFIX}verify_steps_total": speculation.STEPS,
    f"{PREFIX}accepted_tokens_total": speculation.ACCEPTED,
    f"{PREFIX}proposed_tokens_total": speculation.PROPOSED,
    f"{PREFIX}tree_nodes_total": speculation.NODES,
    f"{PREFIX}committed_tokens_total": speculation.COMMITTED,
    f"{PREFIX}graph_fallbacks_total": speculation.FALLBACKS,
}


@dataclass(frozen=True, slots=True)
class _Reduction:
    """How the values of independent ranks (data parallel ones) become one: their sum, or the largest. None is above `most`."""

    metric: Metric
    over: Callable[[Iterable[float]], float]
    most: float = _MOST


_FAMILIES: Mapping[str, _Reduction] = {
    "num_running_reqs": _Reduction(server.RUNNING, math.fsum),
    "num_queue_reqs": _Reduction(server.QUEUED, math.fsum),
    "token_usage": _Reduction(server.KV_USED, max, 1.0),
    "generation_tokens_total": _Reduction(server.GENERATED, math.fsum),
}


def is_sglangs(body: bytes) -> bool:
    """Whether any sample of SGLang's is in it. A server that is ready has some: it has answered its own warm-up."""
    return bool(parse_samples(body, *_SGLANG, most=1))


def samples(body: bytes, port: int) -> Iterator[Sample]:
    """From the body of /metrics. A family that is missing, or has no number, gives no sample. Raises TooMany."""
    wanted = [f"{spelling}{name}" for spelling in _SGLANG for name in _FAMILIES]
    lines = parse_samples(body, PREFIX, *wanted, most=_MOST_SERIES + 1)
    if len(lines) > _MOST_SERIES:
        raise TooMany(f"port {port}: /metrics has more than {_MOST_SERIES} series of what is read")
    families: dict[str, list[Line]] = {}
    for line in lines:
        if 0 <= line.value <= _MOST:  # NaN is neither
            families.setdefault(line.name, []).append(line)
    yield from _sglang(families, str(port))
    for name, metric in _COUNTERS.items():
        if found := families.get(name):
            yield Sample(metric, math.fsum(_steps(found).values()), (str(port),))
    yield from _seconds(families.get(f"{PREFIX}step_seconds_total", []), str(port))
    yield from _lengths(families, str(port))


def _sglang(families: Mapping[str, list[Line]], port: str) -> Iterator[Sample]:
    for name, reduction in _FAMILIES.items():
        found = next((families[full] for spelling in _SGLANG if (full := spelling + name) in families), None)
        if found and all(line.value <= reduction.most for line in found):
            yield Sample(reduction.metric, reduction.over(_steps(_totals(found)).values()), (port,))


def _totals(lines: list[Line]) -> list[Line]:
    """With priorities SGLang gives a series for each of them beside the total, whose label is empty."""
    whole = [line for line in lines if dict(line.labels).get("priority", "") == ""]
    return whole or lines


def _steps(lines: Iterable[Line], without: str = "") -> dict[Labels, float]:
    """Values by labels; series that differ only in a rank of the same step are one, with the largest value."""
    values: dict[Labels, float] = {}
    for line in lines:
        key = tuple(label for label in line.labels if label[0] not in _SAME_STEP and label[0] != without)
        values[key] = max(values.get(key, 0.0), line.value)
    return values


def _seconds(lines: list[Line], port: str) -> Iterator[Sample]:
    for part in _PARTS:
        own = [line for line in lines if ("part", part) in line.labels]
        if own:
            yield Sample(speculation.STEP_SECONDS, math.fsum(_steps(own).values()), (port, part))


def _lengths(families: Mapping[str, list[Line]], port: str) -> Iterator[Sample]:
    """The histogram, if it is whole: some buckets, the last one +Inf, and both totals."""
    bounds: dict[float, list[Line]] = {}
    for line in families.get(f"{_LENGTH}_bucket", []):
        bound = _bound(dict(line.labels).get("le", ""))
        if bound is not None:
            bounds.setdefault(bound, []).append(line)
    count, total = families.get(f"{_LENGTH}_count"), families.get(f"{_LENGTH}_sum")
    if count is None or total is None or math.inf not in bounds or len(bounds) > _MOST_BUCKETS:
        return
    metric = speculation.LENGTH
    for bound in sorted(bounds):
        value = math.fsum(_steps(bounds[bound], without="le").values())
        yield Sample(metric, value, (port,), "_bucket", "+Inf" if bound == math.inf else repr(bound))
    yield Sample(metric, math.fsum(_steps(count).values()), (port,), "_count")
    yield Sample(metric, math.fsum(_steps(total).values()), (port,), "_sum")


def _bound(text: str) -> float | None:
    try:
        bound = float(text)
    except ValueError:
        return None
    return None if math.isnan(bound) else bound
