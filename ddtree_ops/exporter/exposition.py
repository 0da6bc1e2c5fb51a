"""A snapshot as Prometheus' text format, by way of prometheus_client, without its global registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.process_collector import ProcessCollector

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
        self._snapshot = snapshot
        self._process = ProcessCollector(registry=None) if process else None

    def text(self) -> bytes:
        """All families that have samples, in the catalogue's order."""
        rendered: bytes = generate_latest(self)
        return rendered

    def collect(self) -> Iterator[Any]:
        """For prometheus_client, which calls what has this method a collector: its families."""
        yield from _families(_with_own(self._snapshot()))
        if self._process is not None:
            yield from self._process.collect()


def render(snapshot: Snapshot) -> bytes:
    """One snapshot, without the process' own metrics."""
    return Exposition(lambda: snapshot, process=False).text()


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
