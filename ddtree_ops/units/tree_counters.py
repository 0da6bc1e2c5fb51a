"""DDTREE's counters (`sglang_ddtree_*`) and what they grew by. Gauges say nothing here: they fall to 0 when a server is idle.

Names and meanings: sglang_ddtree/runtime/metrics.py. Per verify step and request one target token is appended besides the
accepted drafts, so the steps of single requests are `committed - accepted`, whatever the batch sizes were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ddtree_ops.units.exposition import Labels, parse_samples

PREFIX = "sglang_ddtree_"
NEEDED = ("committed_tokens_total", "accepted_tokens_total", "verify_steps_total")
MOST_COUNT = 2.0**63  # no server decodes more
USEFUL = ("proposed_tokens_total", "graph_fallbacks_total")
# Ranks that compute one and the same step: if each of them reported it, it would still be one step.
_SAME_STEP = ("tp_rank", "pp_rank", "moe_ep_rank")

Series = tuple[str, Labels]


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters at one moment, by name (without the prefix) and labels. NaN, negative and beyond MOST_COUNT are left out."""

    values: Mapping[Series, float]

    @property
    def missing(self) -> tuple[str, ...]:
        """Names without which nothing can be judged and that no series has."""
        there = {name for name, _ in self.values}
        return tuple(PREFIX + name for name in NEEDED if name not in there)


@dataclass(frozen=True, slots=True)
class Growth:
    """What the counters grew by between two moments, over all series. `passes` are verify passes of whole batches."""

    committed: int
    accepted: int
    passes: int
    proposed: int
    fallbacks: int

    @property
    def steps(self) -> int:
        """Verify steps of single requests."""
        return self.committed - self.accepted


@dataclass(frozen=True, slots=True)
class NoGrowth:
    """Two moments that can't be compared, and why."""

    reason: str


def read_counters(body: bytes) -> Counters:
    """From the body of /metrics. Series that differ only in a rank of the same step count once, by their largest value."""
    values: dict[Series, float] = {}
    for sample in parse_samples(body, PREFIX):
        name = sample.name.removeprefix(PREFIX)
        if name not in NEEDED + USEFUL or not 0 <= sample.value <= MOST_COUNT:
            continue
        key = (name, tuple(label for label in sample.labels if label[0] not in _SAME_STEP))
        values[key] = max(values.get(key, 0.0), sample.value)
    return Counters(values)


def growth(before: Counters, after: Counters) -> Growth | NoGrowth:
    """What was added in between. A series that is new counts from 0; one that fell or vanished means another process."""
    if after.missing:
        return NoGrowth(f"/metrics has no {', '.join(after.missing)}")
    grown = dict.fromkeys(NEEDED + USEFUL, 0.0)
    for series, was in before.values.items():
        now = after.values.get(series)
        if now is None or now < was:
            what = "vanished" if now is None else f"fell from {was:g} to {now:g}"
            return NoGrowth(f"{PREFIX}{series[0]} {what}: the server started again in between")
    for series, now in after.values.items():
        grown[series[0]] += now - before.values.get(series, 0.0)
    counts = [round(grown[name]) for name in NEEDED + USEFUL]
    found = Growth(*counts)
    if not 0 <= found.accepted <= found.committed:
        return NoGrowth(f"{found.accepted} accepted of {found.committed} committed tokens can't be")
    return found
