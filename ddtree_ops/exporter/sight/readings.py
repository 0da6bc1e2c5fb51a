"""Samples by family and labels, as questions are asked of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeVar

from ddtree_ops.exporter.metric import Metric, Sample
from ddtree_ops.exporter.snapshot import Snapshot

T = TypeVar("T")
#: By name: the collectors that were read with their samples, and what these came to.
Made = dict[str, tuple[tuple[tuple[str, Sequence[Sample]], ...], Any]]


@dataclass(frozen=True)
class Observed:
    """A host as its observer has it now: `snapshot` is None before the first reading, `problem` says why there is none newer."""

    host: str
    snapshot: Snapshot | None
    hardware: str | None = None
    model: str | None = None
    problem: str | None = None


class Readings:
    """One snapshot, each collector's samples indexed when they are first asked for. Values that are no number count as not told.

    What was `made` of samples that are still the same is taken over from the host's former readings (`reuse`).
    """

    def __init__(self, snapshot: Snapshot | None, made: Made | None = None) -> None:
        self._samples = snapshot.samples if snapshot else {}
        self._by: dict[str, dict[str, dict[str, list[Sample]]]] = {}
        self._read: set[str] = set()
        self.made: Made = {} if made is None else made

    def reuse(self, name: str, make: Callable[[], T]) -> T:
        """What `make` gives, which knows of nothing but samples; made anew when those that it read are others."""
        kept = self.made.get(name)
        if kept is None or any(self._samples.get(collector, ()) is not samples for collector, samples in kept[0]):
            self._read = set()
            fresh = make()
            kept = self.made[name] = (tuple((one, self._samples.get(one, ())) for one in self._read), fresh)
        made: T = kept[1]
        return made

    def first(self, metric: Metric, *labels: str, suffix: str = "") -> Sample | None:
        """The series whose first labels are these."""
        found = self.series(metric, *labels, suffix=suffix)
        return found[0] if found else None

    def value(self, metric: Metric, *labels: str, suffix: str = "") -> float | None:
        sample = self.first(metric, *labels, suffix=suffix)
        return sample.value if sample else None

    def count(self, metric: Metric, *labels: str) -> int | None:
        value = self.value(metric, *labels)
        return None if value is None else int(value)

    def flag(self, metric: Metric, *labels: str) -> bool | None:
        value = self.value(metric, *labels)
        return None if value is None else value > 0

    def chosen(self, metric: Metric, *labels: str) -> str | None:
        """The last label of the series that is 1: of states, results and phases, one is."""
        return next((sample.labels[-1] for sample in self.series(metric, *labels) if sample.value == 1), None)

    def series(self, metric: Metric, *labels: str, suffix: str = "") -> Sequence[Sample]:
        """All whose first labels are these."""
        self._read.add(metric.collector)
        index = self._by.get(metric.collector)
        family = (self._index(metric.collector) if index is None else index).get(metric.name + suffix)
        if family is None:
            return ()
        if not labels:
            return [sample for samples in family.values() for sample in samples]
        found = family.get(labels[0], ())
        return found if len(labels) == 1 else [sample for sample in found if sample.labels[: len(labels)] == labels]

    def ports(self, *metrics: Metric) -> tuple[str, ...]:
        """Every value of label `port` in these families, the smallest number first."""
        found = {sample.labels[0] for metric in metrics for sample in self.series(metric)}
        return tuple(sorted(found, key=lambda port: (len(port), port)))

    def _index(self, collector: str) -> dict[str, dict[str, list[Sample]]]:
        """By name, then by first label."""
        found: dict[str, dict[str, list[Sample]]] = {}
        for sample in self._samples.get(collector, ()):
            if sample.le is None and isfinite(sample.value):
                family = found.setdefault(sample.metric.name + sample.suffix, {})
                family.setdefault(sample.labels[0] if sample.labels else "", []).append(sample)
        self._by[collector] = found
        return found
