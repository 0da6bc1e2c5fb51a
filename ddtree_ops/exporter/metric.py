"""What a metric is here: its name, kind, meaning and labels, written down once for exporter, rules, dashboards and docs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

PREFIX = "ddtree_ops_"


class Type(StrEnum):
    """The types of Prometheus' text format that we use."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """A family. `name` carries the prefix, the unit and, for counters, `_total`. `labels` are in the order of Sample.labels.

    `collector` is the name of the collector that reads it; `most` bounds the number of its series on one host.
    """

    name: str
    type: Type
    text: str
    collector: str
    labels: tuple[str, ...] = ()
    most: int = 64


@dataclass(frozen=True, slots=True)
class Subject:
    """Makes the metrics of one collector; each has the subject's `labels`, and `most` series unless it says otherwise."""

    collector: str
    labels: tuple[str, ...] = ()
    most: int = 1

    def gauge(self, name: str, text: str, *labels: str, most: int | None = None) -> Metric:
        """`name` is without the prefix, `labels` come after the subject's."""
        return self._made(Type.GAUGE, name, text, labels, most)

    def counter(self, name: str, text: str, *labels: str, most: int | None = None) -> Metric:
        """The same."""
        return self._made(Type.COUNTER, name, text, labels, most)

    def histogram(self, name: str, text: str, *labels: str, most: int | None = None) -> Metric:
        """The same."""
        return self._made(Type.HISTOGRAM, name, text, labels, most)

    def _made(self, kind: Type, name: str, text: str, labels: tuple[str, ...], most: int | None) -> Metric:
        return Metric(PREFIX + name, kind, text, self.collector, (*self.labels, *labels), most or self.most)


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of a family at one moment. For histograms `suffix` is `_bucket`, `_count` or `_sum`; only buckets have `le`."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()
    suffix: str = ""
    le: str | None = None
