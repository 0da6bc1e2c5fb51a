"""Service discovery: whether what Prometheus is told is what the inventory says."""

from __future__ import annotations

from ddtree_ops.exporter.metric import PREFIX, Metric, Type

SUCCESS = Metric(
    PREFIX + "discovery_success",
    Type.GAUGE,
    "1 if the inventory could be read as it is now; 0 while the targets of its last good state are told.",
    "discovery",
    most=1,
)
LAST_SUCCESS = Metric(
    PREFIX + "discovery_last_success_timestamp_seconds",
    Type.GAUGE,
    "When the inventory was last read whole, Unix time.",
    "discovery",
    most=1,
)
TARGETS = Metric(PREFIX + "discovery_targets", Type.GAUGE, "Targets by job.", "discovery", ("target_job",), most=8)
BROKEN = Metric(
    PREFIX + "discovery_broken_hosts",
    Type.GAUGE,
    "Hosts of which something can't be read; their targets are those that can be known, else the last good ones.",
    "discovery",
    most=1,
)

ALL = (
    SUCCESS,
    LAST_SUCCESS,
    TARGETS,
    BROKEN,
)
