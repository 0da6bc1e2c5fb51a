"""Whether the targets that Prometheus is told are those of the inventory as it is now."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_ops.exporter.catalogue import discovery as metrics
from ddtree_ops.exporter.discovery.groups import by_job
from ddtree_ops.exporter.discovery.targets import Discovery
from ddtree_ops.exporter.metric import Sample


class DiscoveryCollector:
    """Follows the inventory for the Discovery that answers /sd; so a mistake shows even if nobody asks for targets."""

    name = "discovery"
    period = 5.0

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery

    def read(self) -> Sequence[Sample]:
        """Never raises for a broken inventory: that is what it tells."""
        found = self._discovery.found()
        samples = [
            Sample(metrics.SUCCESS, float(not found.problem)),
            Sample(metrics.BROKEN, float(sum(bool(one.problems) for one in found.hosts))),
        ]
        if found.read_at:
            samples.append(Sample(metrics.LAST_SUCCESS, found.read_at))
        jobs = by_job(found.hosts)
        return [*samples, *(Sample(metrics.TARGETS, float(len(jobs[job])), (job,)) for job in jobs if job)]
