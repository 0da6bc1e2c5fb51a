"""Collector `drift`: the look at a release's files, rarely and with the least claim to the processor."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ddtree_ops.exporter.catalogue import releases
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.releases import drift, installed
from ddtree_ops.exporter.releases.drift import KINDS, Evidence
from ddtree_ops.exporter.target import Target


@dataclass(frozen=True)
class DriftCollector:
    """50,000 files take about half a second of one core."""

    target: Target
    wall: Callable[[], float] = time.time
    name: ClassVar[str] = "drift"
    period: ClassVar[float] = 600.0

    def read(self) -> Sequence[Sample]:
        """Raises Unreachable, HostCommandFailed."""
        shell = self.target.shell
        found = installed.read(shell)
        boots = tuple(line for port in self.target.ports() for line in installed.boots(shell, port))
        counts = drift.count(Evidence(shell.run(drift.command()), found, boots), shell.host)
        checked = Sample(releases.DRIFT_CHECKED, float(round(self.wall())))
        return [checked, *(Sample(releases.DRIFT, counts[kind], (kind,)) for kind in KINDS)]
