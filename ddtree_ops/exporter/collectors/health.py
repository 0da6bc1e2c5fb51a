"""Collector `health`: the servers' own probe, which is a generation of one token unless it is told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ddtree_ops.exporter.catalogue import server
from ddtree_ops.exporter.loopback import HEALTH
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import Target

_MOST_BYTES = 4096  # of an answer that only says that all is well; SGLang's has none (entrypoints/http_server.py)


@dataclass
class HealthCollector:
    """GET /health of each server, rarely: under load it takes its place among the users' requests.

    `problem`: which server answered something else, the last time.
    """

    target: Target
    name: ClassVar[str] = "health"
    period: ClassVar[float] = 30.0
    problem: str | None = field(default=None, init=False)

    def read(self) -> Sequence[Sample]:
        """Raises Unreachable for a host that is lost. A port that refuses is no success, but has no duration either."""
        ports, self.problem = self.target.ports(), None
        return [sample for port in ports for sample in self._of(port)]

    def _of(self, port: int) -> list[Sample]:
        begun = self.target.monotonic()
        try:
            answer = self.target.loopback.get(port, HEALTH, fresh=self.period / 2)
            problem = answer.problem
            if answer.status == 200 and not _is_plain(answer.body):
                problem = f"{HEALTH} answers what SGLang doesn't say"
            if problem:
                self.problem = f"port {port}: {problem}"
            success, seconds = answer.status == 200 and not problem, answer.seconds
            answered = answer.status != 0
        except TimeoutError:
            success, seconds, answered = False, self.target.monotonic() - begun, True
        found = [Sample(server.HEALTH, int(success), (str(port),))]
        return [*found, Sample(server.HEALTH_SECONDS, seconds, (str(port),))] if answered else found


def _is_plain(body: bytes) -> bool:
    """Nothing, or a few words or JSON: neither a page of something else nor noise."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return False
    return len(body) <= _MOST_BYTES and not text.lstrip().startswith("<") and "".join(text.split()).isprintable()
