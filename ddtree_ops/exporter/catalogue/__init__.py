"""All metrics of the exporter. Hosts, models and releases are labels that service discovery adds, never ours."""

from __future__ import annotations

from ddtree_ops.exporter.catalogue import discovery, exporter, failures, gpus, releases, server, speculation, unit
from ddtree_ops.exporter.metric import Metric

MODULES = (exporter, unit, server, speculation, releases, failures, gpus, discovery)
METRICS: tuple[Metric, ...] = tuple(one for module in MODULES for one in vars(module).values() if isinstance(one, Metric))
BY_NAME = {metric.name: metric for metric in METRICS}
