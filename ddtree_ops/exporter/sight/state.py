"""What state a server is in, by what systemd says, and by what is known earlier than systemd says it."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_ops.exporter.sight.model import Failure, Load, State, Traffic
from ddtree_ops.units.exit_codes import ExitCode

# Silence for a minute is normal while kernels compile in the first graph capture; the launcher itself gives up much later.
STALLED_SECONDS = 180.0
# One failed probe of a busy server says nothing; a minute of them without any token does.
SILENT_SECONDS = 60.0
_NO_PHASE = (None, "none")
_EXITS = {
    ExitCode.CRASHED: "crashed",
    ExitCode.STALLED: "ended as stalled",
    ExitCode.REFUSED: "configuration refused",
}


def judge(
    unit: str | None,
    load: Load,
    traffic: Traffic,
    failures: Sequence[Failure],
    *,
    started: float | None,
    exit_code: int | None,
    result: str | None,
    now: float,
) -> tuple[State, str]:
    """State and, where it needs one, the reason in words. `unit` is systemd's ActiveState."""
    if unit is None:
        return State.UNKNOWN, ""
    if unit == "failed":
        return State.FAILED, _ended(exit_code, result)
    if unit == "inactive":
        return State.STOPPED, ""
    if unit == "deactivating" or load.phase == "shutdown":
        return State.STOPPING, ""
    died = _died(failures, started)
    if unit == "active":
        if died and (traffic.answers is False or traffic.healthy is False):
            return State.FAILED, "went down; systemd waits for its processes"
        return _active(traffic, now)
    return _starting(load, died, exit_code, result, now)


def _active(traffic: Traffic, now: float) -> tuple[State, str]:
    silent = traffic.silent_since
    if silent is not None and now - silent >= SILENT_SECONDS:
        return State.UNANSWERING, "health fails, no tokens come"
    if traffic.answers is False:
        return State.SERVING, "doesn't answer /metrics"
    return State.SERVING, "health fails" if traffic.healthy is False and not traffic.tokens else ""


def _starting(load: Load, died: bool, exit_code: int | None, result: str | None, now: float) -> tuple[State, str]:
    idle = load.phase in _NO_PHASE and load.progress is None  # systemd's pause before the next try
    if died and (load.phase == "serving" or (idle and exit_code in (None, 0))):
        return State.FAILED, "crashed, is restarted"
    if died and not idle:
        return State.FAILED, "died while loading"
    if idle and exit_code not in (None, 0):
        return State.FAILED, f"{_ended(exit_code, result)}, is restarted"
    still = None if load.moved is None else now - load.moved
    if still is not None and still >= STALLED_SECONDS:
        return State.STALLED, ""
    return State.LOADING, ""


def _died(failures: Sequence[Failure], started: float | None) -> bool:
    """A root failure since this start: the journal tells of it up to a minute before systemd sees an exit."""
    return started is not None and any(one.role == "root" and one.last >= started for one in failures)


def _ended(exit_code: int | None, result: str | None) -> str:
    if exit_code in _EXITS:
        return _EXITS[ExitCode(exit_code)]
    if result and result not in ("success", "exit-code"):
        return result
    return "ended" if exit_code is None else f"exit code {exit_code}"
