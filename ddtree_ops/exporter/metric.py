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
class Sample:
    """One series of a family at one moment. For histograms `suffix` is `_bucket`, `_count` or `_sum`; only buckets have `le`."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()
    suffix: str = ""
    le: str | None = None
