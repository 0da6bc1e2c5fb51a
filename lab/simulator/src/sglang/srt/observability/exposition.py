"""Counters, gauges and histograms, and Prometheus' text format 0.0.4 of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Labels = tuple[tuple[str, str], ...]


def key(labels: Mapping[str, str]) -> Labels:
    """Labels in the order in which they are shown."""
    return tuple(sorted(labels.items()))


class Family:
    """One counter or gauge with its samples."""

    def __init__(self, kind: str, name: str, text: str, prefix: str = "sglang:") -> None:
        self.kind = kind
        self.name = prefix + name
        self.text = text
        self._values: dict[Labels, float] = {}

    def set(self, value: float, labels: Mapping[str, str]) -> None:
        """Replace a sample."""
        self._values[key(labels)] = float(value)

    def add(self, value: float, labels: Mapping[str, str]) -> None:
        """Raise (or lower, for a gauge) a sample."""
        self._values[key(labels)] = self.get(labels) + value

    def get(self, labels: Mapping[str, str]) -> float:
        """A sample; 0 if there is none yet."""
        return self._values.get(key(labels), 0.0)

    def lines(self) -> list[str]:
        """The family in text format; nothing while it has no sample."""
        if not self._values:
            return []
        samples = [_sample(self.name, labels, value) for labels, value in self._values.items()]
        return [f"# HELP {self.name} {self.text}", f"# TYPE {self.name} {self.kind}", *samples]


class Histogram:
    """One histogram. `buckets` are upper bounds in rising order, without the infinite one."""

    def __init__(self, name: str, text: str, buckets: Sequence[float], prefix: str = "sglang:") -> None:
        self.name = prefix + name
        self.text = text
        self._bounds = (*(float(bound) for bound in buckets), math.inf)
        self._series: dict[Labels, list[float]] = {}  # counts per bucket, then the sum

    def observe(self, value: float, labels: Mapping[str, str], times: int = 1) -> None:
        """Count a value, `times` over."""
        series = self._series.setdefault(key(labels), [0.0] * (len(self._bounds) + 1))
        for index, bound in enumerate(self._bounds):
            if value <= bound:
                series[index] += times
        series[-1] += value * times

    def lines(self) -> list[str]:
        """The family in text format; nothing while it has no sample."""
        if not self._series:
            return []
        result = [f"# HELP {self.name} {self.text}", f"# TYPE {self.name} histogram"]
        for labels, series in self._series.items():
            result.append(_sample(f"{self.name}_sum", labels, series[-1]))
            for bound, count in zip(self._bounds, series, strict=False):
                result.append(_sample(f"{self.name}_bucket", key({**dict(labels), "le": _number(bound)}), count))
            result.append(_sample(f"{self.name}_count", labels, series[-2]))
        return result


def _sample(name: str, labels: Labels, value: float) -> str:
    text = ",".join(f'{label}="{_escaped(content)}"' for label, content in labels)
    return f"{name}{{{text}}} {_number(value)}" if text else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    text = repr(float(value))
    whole, _, fraction = text.partition(".")
    if fraction == "0" and len(whole) > 6:  # as Prometheus' own client shows large whole numbers
        digits = whole.rstrip("0")
        mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
        return f"{mantissa}e+{len(whole) - 1:02d}"
    return text
