"""DDTREE's own metrics, on SGLang's /metrics by prometheus_client's multi-process files.

Counters and a histogram only, so that any average comes from rate(): unlike SGLang's gauges they don't fall to 0 when idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

PREFIX = "sglang_ddtree_"
PARTS = ("draft", "build", "verify", "commit")


@dataclass(frozen=True, slots=True)
class Step:
    """One verify step. `committed` counts tokens per request, bonus included; `proposed` draft tokens over all requests."""

    committed: Sequence[int]
    proposed: int
    fell_back: bool
    """The server has CUDA graphs, but this step ran without one."""


class StepRecorder(Protocol):
    """Who is told of every step."""

    def record(self, step: Step) -> None:
        """Count a step."""

    def record_times(self, seconds: Sequence[float]) -> None:
        """Add a step's seconds per part, in the order of PARTS."""


class NoMetrics:
    """Where metrics are off, or on the other ranks."""

    def record(self, step: Step) -> None:
        """Count nothing."""

    def record_times(self, seconds: Sequence[float]) -> None:
        """Count nothing."""


class PrometheusMetrics:
    """Imports prometheus_client only here: SGLang has to set PROMETHEUS_MULTIPROC_DIR before."""

    def __init__(self, labels: dict[str, str], block_size: int, registry: Any = None) -> None:
        from prometheus_client import REGISTRY, Counter, Histogram

        place = REGISTRY if registry is None else registry

        def counter(name: str, text: str) -> Any:
            return Counter(PREFIX + name, text, list(labels), registry=place).labels(**labels)

        self._steps = counter("verify_steps", "Verify passes of the target.")
        self._accepted = counter("accepted_tokens", "Draft tokens that the target accepted, bonus tokens not included.")
        self._proposed = counter("proposed_tokens", "Draft tokens that were verified.")
        self._nodes = counter("tree_nodes", "Nodes of all draft trees, roots included.")
        self._committed = counter("committed_tokens", "Tokens appended to texts by verify steps, bonus tokens included.")
        self._fallbacks = counter("graph_fallbacks", "Verify steps that ran without a captured CUDA graph.")
        self._lengths = Histogram(
            PREFIX + "acceptance_length",
            "Tokens committed per request and verify step, bonus token included.",
            list(labels),
            buckets=[float(length) for length in range(1, block_size + 1)],
            registry=place,
        ).labels(**labels)
        seconds = Counter(
            PREFIX + "step_seconds", "Time on the GPU's clock by part of a step.", [*labels, "part"], registry=place
        )
        self._seconds = [seconds.labels(**labels, part=part) for part in PARTS]

    def record(self, step: Step) -> None:
        """Count a step."""
        total = sum(step.committed)
        requests = len(step.committed)
        self._steps.inc()
        self._accepted.inc(total - requests)
        self._proposed.inc(step.proposed)
        self._nodes.inc(step.proposed + requests)
        self._committed.inc(total)
        if step.fell_back:
            self._fallbacks.inc()
        for length in step.committed:
            self._lengths.observe(length)

    def record_times(self, seconds: Sequence[float]) -> None:
        """Add a step's seconds per part."""
        for part, value in zip(self._seconds, seconds, strict=True):
            part.inc(value)
