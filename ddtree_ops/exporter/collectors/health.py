"""Collector `health`: the servers' own probe, which is a generation of one token unless it is told otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ddtree_ops.exporter.catalogue import server
from ddtree_ops.exporter.loopback import HEALTH
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import Target


@dataclass(frozen=True)
class HealthCollector:
    """GET /health of each server, rarely: under load it takes its place among the users' requests."""

    target: Target
    monotonic: Callable[[], float] = time.monotonic
    name: ClassVar[str] = "health"
    period: ClassVar[float] = 30.0

    def read(self) -> Sequence[Sample]:
        """Raises Unreachable for a host that is lost. A port that refuses is no success, but has no duration either."""
        return [sample for port in self.target.ports() for sample in self._of(port)]

    def _of(self, port: int) -> list[Sample]:
        begun = self.monotonic()
        try:
            answer = self.target.loopback.get(port, HEALTH, fresh=self.period / 2)
            success, seconds = answer.status == 200, answer.seconds
            answered = answer.status != 0
        except TimeoutError:
            success, seconds, answered = False, self.monotonic() - begun, True
        found = [Sample(server.HEALTH, int(success), (str(port),))]
        return [*found, Sample(server.HEALTH_SECONDS, seconds, (str(port),))] if answered else found
