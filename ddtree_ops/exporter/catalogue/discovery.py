"""Service discovery: whether what Prometheus is told is what the inventory says."""

from __future__ import annotations

from ddtree_ops.exporter.metric import Subject

_DISCOVERY = Subject("discovery")

SUCCESS = _DISCOVERY.gauge(
    "discovery_success", "1 if the inventory could be read as it is now; 0 while the targets of its last good state are told."
)
LAST_SUCCESS = _DISCOVERY.gauge("discovery_last_success_timestamp_seconds", "When the inventory was last read whole, Unix time.")
TARGETS = _DISCOVERY.gauge("discovery_targets", "Targets by job.", "target_job", most=8)
BROKEN = _DISCOVERY.gauge(
    "discovery_broken_hosts",
    "Hosts of which something can't be read; their targets are those that can be known, else the last good ones.",
)
