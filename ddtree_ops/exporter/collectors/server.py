"""Collector `server`: whether /metrics answers, and what of it we pass on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ddtree_ops.exporter.catalogue import server
from ddtree_ops.exporter.loopback import METRICS
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.served import samples
from ddtree_ops.exporter.target import Target


@dataclass(frozen=True)
class ServerCollector:
    """GET /metrics of each server. An answer that Prometheus has just had through us is good enough."""

    target: Target
    name: ClassVar[str] = "server"
    period: ClassVar[float] = 10.0

    def read(self) -> Sequence[Sample]:
        """Raises Unreachable for a host that is lost; a server that doesn't answer is a fact."""
        return [sample for port in self.target.ports() for sample in self._of(port)]

    def _of(self, port: int) -> list[Sample]:
        try:
            answer = self.target.loopback.get(port, METRICS, fresh=self.period / 2)
        except TimeoutError:
            return [Sample(server.HTTP_UP, 0, (str(port),))]
        up = answer.status == 200
        own = [Sample(server.HTTP_UP, int(up), (str(port),))]
        return [*own, *samples(answer.body, port)] if up else own
