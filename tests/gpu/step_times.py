"""The plugin's own counters in SGLang's /metrics, as differences between two readings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]{0,200})(?:\{(?P<labels>[^}]{0,1000})\})? (?P<value>\S{1,40})$", re.MULTILINE)
LABEL = re.compile(r'(\w{1,100})="([^"]{0,200})"')
PARTS = ("draft", "build", "verify", "commit")


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    labels: tuple[tuple[str, str], ...]


def read_metrics(text: str) -> dict[Sample, float]:
    """Samples of a Prometheus text exposition; lines that are none are left out."""
    found = {}
    for match in SAMPLE.finditer(text):
        try:
            value = float(match["value"])
        except ValueError:
            continue
        found[Sample(match["name"], tuple(sorted(LABEL.findall(match["labels"] or ""))))] = value
    return found


def total(metrics: Mapping[Sample, float], name: str, **labels: str) -> float:
    """The sum of all samples of that name that carry these labels, 0 if there is none."""
    wanted = set(labels.items())
    return sum(value for sample, value in metrics.items() if sample.name == name and wanted <= set(sample.labels))


def step_split(before: Mapping[Sample, float], after: Mapping[Sample, float]) -> dict[str, float] | None:
    """Microseconds a step of each part between two readings; None if no step was timed in between."""

    def grown(name: str, **labels: str) -> float:
        return total(after, name, **labels) - total(before, name, **labels)

    steps = grown("sglang_ddtree_verify_steps_total")
    if not steps:
        return None
    return {part: round(1e6 * grown("sglang_ddtree_step_seconds_total", part=part) / steps, 1) for part in PARTS}
