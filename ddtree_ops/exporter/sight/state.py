"""What state a server is in, by what systemd says, and by what is known earlier than systemd says it."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_ops.exporter.sight.model import Failure, Server, State, Traffic
from ddtree_ops.units.exit_codes import ExitCode

# Silence for a minute is normal while kernels compile in the first graph capture; the launcher itself gives up much later.
STALLED_SECONDS = 180.0
# One failed probe of a busy server says nothing; a minute of them without any token does.
SILENT_SECONDS = 60.0
# A host's problem that tells no more than that it is lost.
UNANSWERED = "doesn't answer"
_NO_PHASE = (None, "none")
_EXITS = {
    ExitCode.CRASHED: "crashed",
    ExitCode.STALLED: "ended as stalled",
    ExitCode.REFUSED: "configuration refused",
}


def judge(known: Server, traffic: Traffic, failures: Sequence[Failure], now: float) -> tuple[State, str]:
    """State and, where it needs one, the reason in words; of `known` only what systemd and the launcher tell counts."""
    unit, load = known.unit, known.load
    if unit is None:
        return State.UNKNOWN, ""
    if unit == "failed":
        return State.FAILED, _ended(known)
    if unit == "inactive":
        return State.STOPPED, ""
    if unit == "deactivating" or load.phase == "shutdown":
        return State.STOPPING, ""
    died = _died(failures, known.started)
    if unit == "active":
        if died and (traffic.answers is False or traffic.healthy is False):
            return State.FAILED, "went down; systemd waits for its processes"
        return _active(traffic, now)
    return _starting(known, died, now)


def _active(traffic: Traffic, now: float) -> tuple[State, str]:
    silent = traffic.silent_since
    if silent is not None and now - silent >= SILENT_SECONDS:
        return State.UNANSWERING, "health fails, no tokens come"
    if traffic.answers is False:
        return State.SERVING, "no metrics of SGLang's at /metrics"
    return State.SERVING, "health fails" if traffic.healthy is False and not traffic.tokens else ""


def _starting(known: Server, died: bool, now: float) -> tuple[State, str]:
    load = known.load
    idle = load.phase in _NO_PHASE and load.progress is None  # systemd's pause before the next try
    if died and (load.phase == "serving" or (idle and not known.exit_code)):
        return State.FAILED, "crashed, is restarted"
    if died and not idle:
        return State.FAILED, "died while loading"
    if idle and known.exit_code:
        return State.FAILED, f"{_ended(known)}, is restarted"
    still = None if load.moved is None else now - load.moved
    if still is not None and still >= STALLED_SECONDS:
        return State.STALLED, ""
    return State.LOADING, ""


def _died(failures: Sequence[Failure], started: float | None) -> bool:
    """A root failure since this start: the journal tells of it up to a minute before systemd sees an exit."""
    return started is not None and any(one.role == "root" and one.last >= started for one in failures)


def _ended(known: Server) -> str:
    if known.exit_code in _EXITS:
        return _EXITS[ExitCode(known.exit_code)]
    if known.result and known.result not in ("success", "exit-code"):
        return known.result
    return "ended" if known.exit_code is None else f"exit code {known.exit_code}"
