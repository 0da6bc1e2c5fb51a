"""The counters of the plugin sglang-ddtree on /metrics, by its names (sglang_ddtree/runtime/metrics.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sglang.srt.observability.exposition import Family, Histogram

_PREFIX = "sglang_ddtree_"
_COUNTERS = {
    "verify_steps": "Verify passes of the target.",
    "accepted_tokens": "Draft tokens that the target accepted, bonus tokens not included.",
    "proposed_tokens": "Draft tokens that were verified.",
    "tree_nodes": "Nodes of all draft trees, roots included.",
    "committed_tokens": "Tokens appended to texts by verify steps, bonus tokens included.",
    "graph_fallbacks": "Verify steps that ran without a captured CUDA graph.",
}
# Where a step's time goes, as a share of it.
_PARTS = {"draft": 0.22, "build": 0.03, "verify": 0.7, "commit": 0.05}


class TreeCounts:
    """What rank 0 counts; `message` goes to the main process and holds totals. `moves`: False for a fault."""

    def __init__(self, *, moves: bool) -> None:
        self._moves = moves
        self._totals = dict.fromkeys(_COUNTERS, 0)
        self._lengths: dict[int, int] = {}
        self._seconds = 0.0

    def step(self, committed: Sequence[int], proposed: int, seconds: float, *, fell_back: bool) -> None:
        """Count a verify pass: tokens appended per request, draft tokens over all requests."""
        if not self._moves:
            return
        requests, total = len(committed), sum(committed)
        grown = (1, total - requests, proposed, proposed + requests, total, int(fell_back))
        for name, count in zip(_COUNTERS, grown, strict=True):
            self._totals[name] += count
        for length in committed:
            self._lengths[length] = self._lengths.get(length, 0) + 1
        self._seconds += seconds

    @property
    def message(self) -> dict[str, object]:
        """Totals, and how often each length was committed."""
        lengths = {str(length): count for length, count in self._lengths.items()}
        return {"totals": dict(self._totals), "lengths": lengths, "seconds": self._seconds}


class TreeFamilies:
    """The families in the main process. They are there from the start, as the plugin makes them before the first step."""

    def __init__(self, model_name: str, block_size: int) -> None:
        self._labels = {"model_name": model_name}
        self._counters = {name: Family("counter", f"{name}_total", text, prefix=_PREFIX) for name, text in _COUNTERS.items()}
        self._seconds = Family("counter", "step_seconds_total", "Time on the GPU's clock by part of a step.", prefix=_PREFIX)
        text = "Tokens committed per request and verify step, bonus token included."
        self._lengths = Histogram("acceptance_length", text, range(1, block_size + 1), prefix=_PREFIX)
        self._seen: dict[str, int] = {}
        self.take({"totals": dict.fromkeys(_COUNTERS, 0), "lengths": {}, "seconds": 0.0})

    def take(self, message: Mapping[str, object]) -> None:
        """Take over rank 0's totals."""
        totals, lengths, seconds = message["totals"], message["lengths"], message["seconds"]
        assert isinstance(totals, dict) and isinstance(lengths, dict) and isinstance(seconds, float)
        for name, total in totals.items():
            self._counters[name].set(total, self._labels)
        for part, share in _PARTS.items():
            self._seconds.set(seconds * share, {**self._labels, "part": part})
        for length, count in lengths.items():
            for _ in range(count - self._seen.get(length, 0)):
                self._lengths.observe(int(length), self._labels)
            self._seen[length] = count

    @property
    def families(self) -> list[Family | Histogram]:
        """All of them, in the plugin's order."""
        return [*self._counters.values(), self._lengths, self._seconds]
