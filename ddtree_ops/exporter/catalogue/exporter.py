"""The exporter about itself."""

from __future__ import annotations

from ddtree_ops.exporter.metric import PREFIX, Metric, Type

BUILD = Metric(
    PREFIX + "build_info", Type.GAUGE, "Always 1; the version of ddtree-ops that runs here.", "exporter", ("version",), most=1
)
COLLECTOR_SUCCESS = Metric(
    PREFIX + "collector_success",
    Type.GAUGE,
    "1 if the last reading of this collector succeeded.",
    "exporter",
    ("collector",),
    most=16,
)
COLLECTOR_DURATION = Metric(
    PREFIX + "collector_duration_seconds",
    Type.GAUGE,
    "How long the last reading of this collector took.",
    "exporter",
    ("collector",),
    most=16,
)
COLLECTOR_LAST_SUCCESS = Metric(
    PREFIX + "collector_last_success_timestamp_seconds",
    Type.GAUGE,
    "When this collector last succeeded, Unix time.",
    "exporter",
    ("collector",),
    most=16,
)
COLLECTOR_DROPPED = Metric(
    PREFIX + "collector_dropped_series",
    Type.GAUGE,
    "Series of the last reading that were left out (too many, there twice, or of a form or value that can't be); for collector "
    "unit also servers beyond the fourth.",
    "exporter",
    ("collector",),
    most=16,
)

ALL = (
    BUILD,
    COLLECTOR_SUCCESS,
    COLLECTOR_DURATION,
    COLLECTOR_LAST_SUCCESS,
    COLLECTOR_DROPPED,
)
