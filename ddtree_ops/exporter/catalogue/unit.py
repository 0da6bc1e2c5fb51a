"""What systemd says of a server, and how far its load is."""

from __future__ import annotations

from ddtree_ops.exporter.metric import Subject

_UNIT = Subject("unit", ("port",), most=4)
_BOOTS = Subject("boots", ("port",), most=4)

STATE = _UNIT.gauge("unit_state", "1 for the ActiveState that the unit is in, 0 for the others.", "state", most=40)
RESTARTS = _UNIT.counter(
    "unit_restarts_total", "systemd's NRestarts: starts by Restart= since the unit was last started by hand."
)
LAST_EXIT_CODE = _UNIT.gauge(
    "unit_last_exit_code",
    "ExecMainStatus of the last main process that was seen to end: 0 stopped, 70 crash, 75 stall, 78 configuration.",
)
LAST_RESULT = _UNIT.gauge(
    "unit_last_result",
    "1 for the unit's Result (success, exit-code, signal, timeout, oom-kill, ...), 0 for the others.",
    "result",
    most=48,
)
STARTED = _UNIT.gauge("unit_started_timestamp_seconds", "When the main process was started, Unix time; absent if none was.")
READY = _UNIT.gauge("server_ready", "1 while the unit is active, which the launcher says only after a real generation came back.")
PHASE = _UNIT.gauge(
    "server_phase",
    "1 for the phase that the server is in (arguments, ..., serving, shutdown, none), 0 for the others.",
    "phase",
    most=40,
)
LOAD_PROGRESS = _UNIT.gauge(
    "load_progress_ratio",
    "How much of the whole load is done, 0 to 1, by the seconds that earlier boots took; absent when it is not loading.",
)
LOAD_ETA = _UNIT.gauge(
    "load_eta_seconds", "Seconds until it is probably ready; absent when it is not loading or nothing is known."
)
LOAD_ELAPSED = _UNIT.gauge("load_elapsed_seconds", "Seconds since the load began; absent when it is not loading.")
LOAD_USUAL = _BOOTS.gauge(
    "load_usual_seconds", "Median of the last loads that became ready with this release, else with any; absent if there was none."
)
LAST_PROGRESS = _UNIT.gauge(
    "load_last_progress_timestamp_seconds",
    "When phase, percent, log, tasks or CPU time last moved during the load, Unix time; absent when it is not loading.",
)
BOOT_SEGMENT = _BOOTS.gauge(
    "boot_segment_seconds",
    "Seconds that each segment (phase, `draft_` for the draft model) of the last finished boot took.",
    "segment",
    most=48,
)
BOOT_SECONDS = _BOOTS.gauge("boot_duration_seconds", "Seconds of the last finished boot, until it was ready or had ended.")
BOOTS = _BOOTS.counter(
    "boots_total",
    "Boots that ended since the exporter first saw this host, by outcome (ready, crashed, stalled, stopped, refused).",
    "outcome",
    most=20,
)
