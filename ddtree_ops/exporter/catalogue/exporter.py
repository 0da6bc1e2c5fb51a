"""The exporter about itself."""

from __future__ import annotations

from ddtree_ops.exporter.metric import Subject

_SELF = Subject("exporter")
_COLLECTOR = Subject("exporter", ("collector",), most=16)

BUILD = _SELF.gauge("build_info", "Always 1; the version of ddtree-ops that runs here.", "version")
COLLECTOR_SUCCESS = _COLLECTOR.gauge("collector_success", "1 if the last reading of this collector succeeded.")
COLLECTOR_DURATION = _COLLECTOR.gauge("collector_duration_seconds", "How long the last reading of this collector took.")
COLLECTOR_LAST_SUCCESS = _COLLECTOR.gauge(
    "collector_last_success_timestamp_seconds", "When this collector last succeeded, Unix time."
)
COLLECTOR_DROPPED = _COLLECTOR.gauge(
    "collector_dropped_series",
    "Series of the last reading that were left out (too many, there twice, or of a form or value that can't be); for collector "
    "unit also servers beyond the fourth.",
)
