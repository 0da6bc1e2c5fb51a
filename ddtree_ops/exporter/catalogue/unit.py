"""What systemd says of a server, and how far its load is."""

from __future__ import annotations

from ddtree_ops.exporter.metric import PREFIX, Metric, Type

STATE = Metric(
    PREFIX + "unit_state",
    Type.GAUGE,
    "1 for the ActiveState that the unit is in, 0 for the others.",
    "unit",
    ("port", "state"),
    most=40,
)
RESTARTS = Metric(
    PREFIX + "unit_restarts_total",
    Type.COUNTER,
    "systemd's NRestarts: starts by Restart= since the unit was last started by hand.",
    "unit",
    ("port",),
    most=4,
)
LAST_EXIT_CODE = Metric(
    PREFIX + "unit_last_exit_code",
    Type.GAUGE,
    "ExecMainStatus of the last main process that was seen to end: 0 stopped, 70 crash, 75 stall, 78 configuration.",
    "unit",
    ("port",),
    most=4,
)
LAST_RESULT = Metric(
    PREFIX + "unit_last_result",
    Type.GAUGE,
    "1 for the unit's Result (success, exit-code, signal, timeout, oom-kill, ...), 0 for the others.",
    "unit",
    ("port", "result"),
    most=48,
)
STARTED = Metric(
    PREFIX + "unit_started_timestamp_seconds",
    Type.GAUGE,
    "When the main process was started, Unix time; absent if none was.",
    "unit",
    ("port",),
    most=4,
)
READY = Metric(
    PREFIX + "server_ready",
    Type.GAUGE,
    "1 while the unit is active, which the launcher says only after a real generation came back.",
    "unit",
    ("port",),
    most=4,
)
PHASE = Metric(
    PREFIX + "server_phase",
    Type.GAUGE,
    "1 for the phase that the server is in (arguments, ..., serving, shutdown, none), 0 for the others.",
    "unit",
    ("port", "phase"),
    most=40,
)
LOAD_PROGRESS = Metric(
    PREFIX + "load_progress_ratio",
    Type.GAUGE,
    "How much of the whole load is done, 0 to 1, by the seconds that earlier boots took; absent when it is not loading.",
    "unit",
    ("port",),
    most=4,
)
LOAD_ETA = Metric(
    PREFIX + "load_eta_seconds",
    Type.GAUGE,
    "Seconds until it is probably ready; absent when it is not loading or nothing is known.",
    "unit",
    ("port",),
    most=4,
)
LOAD_ELAPSED = Metric(
    PREFIX + "load_elapsed_seconds",
    Type.GAUGE,
    "Seconds since the load began; absent when it is not loading.",
    "unit",
    ("port",),
    most=4,
)
LOAD_USUAL = Metric(
    PREFIX + "load_usual_seconds",
    Type.GAUGE,
    "Median of the last loads that became ready with this release, else with any; absent if there was none.",
    "boots",
    ("port",),
    most=4,
)
LAST_PROGRESS = Metric(
    PREFIX + "load_last_progress_timestamp_seconds",
    Type.GAUGE,
    "When phase, percent, log, tasks or CPU time last moved during the load, Unix time; absent when it is not loading.",
    "unit",
    ("port",),
    most=4,
)
BOOT_SEGMENT = Metric(
    PREFIX + "boot_segment_seconds",
    Type.GAUGE,
    "Seconds that each segment (phase, `draft_` for the draft model) of the last finished boot took.",
    "boots",
    ("port", "segment"),
    most=48,
)
BOOT_SECONDS = Metric(
    PREFIX + "boot_duration_seconds",
    Type.GAUGE,
    "Seconds of the last finished boot, until it was ready or had ended.",
    "boots",
    ("port",),
    most=4,
)
BOOTS = Metric(
    PREFIX + "boots_total",
    Type.COUNTER,
    "Boots that ended since the exporter first saw this host, by outcome (ready, crashed, stalled, stopped, refused).",
    "boots",
    ("port", "outcome"),
    most=20,
)

ALL = (
    STATE,
    RESTARTS,
    LAST_EXIT_CODE,
    LAST_RESULT,
    STARTED,
    READY,
    PHASE,
    LOAD_PROGRESS,
    LOAD_ETA,
    LOAD_ELAPSED,
    LOAD_USUAL,
    LAST_PROGRESS,
    BOOT_SEGMENT,
    BOOT_SECONDS,
    BOOTS,
)
