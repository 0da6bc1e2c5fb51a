"""A snapshot as Prometheus' text format, by way of a registry of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from ddtree_ops import __version__
from ddtree_ops.exporter.catalogue import METRICS
from ddtree_ops.exporter.catalogue import exporter as own
from ddtree_ops.exporter.metric import Metric, Sample, Type
from ddtree_ops.exporter.snapshot import CollectorState, Snapshot

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TOTAL = "_total"


class Exposition:
    """`snapshot` is asked for at each scrape; `process`: also CPU, memory and descriptors of this process."""

    def __init__(self, snapshot: Callable[[], Snapshot], *, process: bool = True) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_SnapshotCollector(snapshot))
        if process:
            ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        """All families that have samples, in the catalogue's order."""
        rendered: bytes = generate_latest(self._registry)
        return rendered


def render(snapshot: Snapshot) -> bytes:
    """One snapshot, without the process' own metrics."""
    return Exposition(lambda: snapshot, process=False).text()


class _SnapshotCollector:
    """What prometheus_client calls a collector: something that yields families when it is asked."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def describe(self) -> Iterable[Any]:
        """Nothing: else the registry would read all of it when it is registered."""
        return ()

    def collect(self) -> Iterator[Any]:
        yield from _families(_with_own(self._snapshot()))


def _with_own(snapshot: Snapshot) -> dict[str, list[Sample]]:
    """All samples by the name of their metric."""
    found: dict[str, list[Sample]] = {}
    for samples in (own_samples(snapshot), *snapshot.samples.values()):
        for sample in samples:
            found.setdefault(sample.metric.name, []).append(sample)
    return found


def own_samples(snapshot: Snapshot) -> list[Sample]:
    """What the exporter says of itself."""
    samples = [Sample(own.BUILD, 1.0, (__version__,))]
    for name, state in snapshot.states.items():
        samples += _of_collector(name, state)
    return samples


def _of_collector(name: str, state: CollectorState) -> Iterator[Sample]:
    yield Sample(own.COLLECTOR_SUCCESS, float(state.success), (name,))
    yield Sample(own.COLLECTOR_DURATION, state.duration, (name,))
    yield Sample(own.COLLECTOR_DROPPED, float(state.dropped), (name,))
    if state.last_success is not None:
        yield Sample(own.COLLECTOR_LAST_SUCCESS, state.last_success, (name,))


def _families(samples: dict[str, list[Sample]]) -> Iterator[Any]:
    for metric in METRICS:
        if metric.name in samples:
            yield _family(metric, samples[metric.name])


def _family(metric: Metric, samples: list[Sample]) -> Any:
    base = metric.name.removesuffix(_TOTAL) if metric.type is Type.COUNTER else metric.name
    family = Family(base, metric.text, metric.type.value)
    for sample in samples:
        labels = dict(zip(metric.labels, sample.labels, strict=True))
        if sample.le is not None:
            labels["le"] = sample.le
        family.add_sample(metric.name + sample.suffix, labels, sample.value)
    return family
