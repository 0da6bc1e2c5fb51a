"""Collector `server`: whether /metrics answers, and what of it we pass on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ddtree_ops.exporter.catalogue import server
from ddtree_ops.exporter.loopback import METRICS
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.served import TooMany, is_sglangs, samples
from ddtree_ops.exporter.target import Target


@dataclass
class ServerCollector:
    """GET /metrics of each server. An answer that Prometheus has just had through us is good enough.

    `problem`: what a server answered instead of metrics, the last time.
    """

    target: Target
    name: ClassVar[str] = "server"
    period: ClassVar[float] = 10.0
    problem: str | None = field(default=None, init=False)

    def read(self) -> Sequence[Sample]:
        """Raises Unreachable for a host that is lost; a server that doesn't answer is a fact."""
        ports, self.problem = self.target.ports(), None
        return [sample for port in ports for sample in self._of(port)]

    def _of(self, port: int) -> list[Sample]:
        try:
            answer = self.target.loopback.get(port, METRICS, fresh=self.period / 2)
        except TimeoutError:
            return [Sample(server.HTTP_UP, 0, (str(port),))]
        problem = answer.problem
        if answer.status == 200 and not is_sglangs(answer.body):
            problem = f"{METRICS} isn't understood: no metric of SGLang's is in it"
        if problem:
            self.problem = f"port {port}: {problem}"
        up = answer.status == 200 and not problem
        own = [Sample(server.HTTP_UP, int(up), (str(port),))]
        try:
            return [*own, *samples(answer.body, port)] if up else own
        except TooMany as error:
            self.problem = error.message
            return own
