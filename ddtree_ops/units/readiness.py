"""Is the server ready? A pure state machine: news in, verdict out.

Three sources feed it and the first news wins: the journal (a crash shows there up to 65 s before systemd learns of it),
`systemctl show` (state, result, invocation, the launcher's status text) and a real generation over HTTP.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ddtree_ops.units import status_text
from ddtree_ops.units.crash_signs import CrashWatch
from ddtree_ops.units.exit_codes import ExitCode
from ddtree_ops.units.systemctl import Active, UnitState

# After the first sign of a crash we read on until the journal is silent for QUIET_SECONDS (journald holds a line back for up to
# 0.25 s), LINGER_SECONDS at most: the other ranks' tracebacks belong to the same report.
QUIET_SECONDS = 0.3
LINGER_SECONDS = 1.0
# After a right answer over HTTP, so long may the launcher take to tell systemd: whoever asks next shall see `active`.
SETTLE_SECONDS = 5.0
# Between the stop and the start of a restart a unit is inactive for a moment; one that stays so was stopped by somebody.
STOPPED_SECONDS = 3.0
# The launcher judges a stall itself; only when it is silent, too, do we, and so much later.
STALL_MARGIN_SECONDS = 30.0

_LONGEST_REASON = 200
_LAUNCHER = "ddtree launcher: "
_LAUNCHER_STALLED = f"{_LAUNCHER}stalled: "
_STOPPED = "the unit was stopped"
_SYSTEMD = 1  # the service manager's pid
_ENDED = re.compile(r"\S+: (?:Main process exited|Failed with result)")  # systemd 252, service.c and unit.c

# Status texts of the launcher from `Uvicorn running` on.
_PORT_IS_OPEN = ("warmup", "serving", "ready")


@dataclass(frozen=True)
class Waiting:
    """Still loading. `percent` of the segment (0-100) and `eta` of the whole load in seconds are None while unknown."""

    segment: str
    percent: int | None
    eta: int | None
    elapsed: float

    @property
    def done(self) -> float | None:
        """How much of the whole load is done, 0 to 1, in time; None without an ETA."""
        whole = self.elapsed + (self.eta or 0)
        return None if self.eta is None or whole <= 0 else self.elapsed / whole


@dataclass(frozen=True)
class Ready:
    """A real generation came back; `seconds` since the wait began; `source` is who said so first."""

    seconds: float
    source: str


@dataclass(frozen=True)
class Died:
    """The server crashed; the journal says why."""

    seconds: float
    reason: str


@dataclass(frozen=True)
class Stalled:
    """Nothing moved any more."""

    seconds: float
    reason: str


@dataclass(frozen=True)
class TimedOut:
    """Things moved, but the load's whole budget is spent."""

    seconds: float
    reason: str


Verdict = Ready | Died | Stalled | TimedOut


class Readiness:
    """Feed it entries, unit states and answers; ask `verdict(now)`. All times are monotonic seconds.

    `old_invocation` is the invocation that is being replaced (None: wait for whatever runs): what still comes from it
    counts for nothing.
    """

    def __init__(self, started: float, budget: float, stall_after: float, old_invocation: str | None = None) -> None:
        self._started = started
        self._budget = budget
        self._stall_after = stall_after
        self._old = old_invocation
        self._invocation: str | None = None
        self._state: UnitState | None = None
        self._moved = started
        self._fatal_at: float | None = None
        self._heard = started
        self._inactive_since: float | None = None
        self._fatal_reason = ""
        self._crash = CrashWatch()
        self._end: Verdict | None = None
        self._answered: Ready | None = None
        self._stall_words = ""

    @property
    def invocation(self) -> str | None:
        """The invocation that we wait for, once it exists."""
        return self._invocation

    def entry(self, pid: int | None, message: str, invocation: str | None, now: float) -> None:
        """A journal line of the unit, written by process `pid` (None: unknown)."""
        if self._old and invocation == self._old:
            return
        self._moved = self._heard = now
        if pid == _SYSTEMD:
            if _ENDED.match(message):
                self._ended(message, now)
            return
        if message.startswith(_LAUNCHER_STALLED):
            self._stall_words = message.removeprefix(_LAUNCHER)[:_LONGEST_REASON]
        self._crash.feed(pid or 0, message, now)
        if self._crash.at is not None:
            self._mark_fatal(now, "")

    def _ended(self, message: str, now: float) -> None:
        """systemd's word; the launcher's exit code tells a stall from a crash."""
        if f"status={ExitCode.STALLED:d}/" in message and self._fatal_at is None:
            self._end = self._end or Stalled(now - self._started, self._stall_words or "the launcher saw nothing move any more")
        else:
            self._mark_fatal(now, message)

    def unit(self, state: UnitState, now: float) -> None:
        """A look at the unit."""
        if state.active is not Active.INACTIVE:
            self._inactive_since = None
        elif self._inactive_since is None:
            self._inactive_since = now
        elif now - self._inactive_since >= STOPPED_SECONDS:
            self._mark_fatal(now, _STOPPED)
        if state.invocation and state.invocation == self._old:
            return
        # While a start goes on, every answer counts: the launcher judges a stall, and if it hangs itself, the start times out,
        # which only the launcher extends. What is left for us is a host that answers no more.
        if state != self._state or state.active is Active.ACTIVATING:
            self._moved = now
        self._state = state
        if self._invocation is None and state.invocation and state.active is not Active.INACTIVE:
            self._invocation = state.invocation
        if self._ended_badly(state):
            self._judge_end(state, now)
        elif state.serving and self._fatal_at is None:
            self._end = self._answered or Ready(now - self._started, "systemd")

    def answered(self, now: float) -> None:
        """A real generation came back right over HTTP.

        It counts once the launcher says that SGLang has opened its port: before, it is somebody else's answer.
        """
        segment = self.waiting(now).segment
        if self._fatal_at is None and segment in _PORT_IS_OPEN:
            self._answered = self._answered or Ready(now - self._started, "http")

    def verdict(self, now: float) -> Verdict | None:
        """The end, if there is one; a crash is held back until its report is whole."""
        if self._end is not None:
            return self._end
        seconds = now - self._started
        if self._fatal_at is not None:
            lingered = now - self._fatal_at >= LINGER_SECONDS or now - max(self._heard, self._fatal_at) >= QUIET_SECONDS
            return Died(seconds, self._died_of()) if lingered else None
        if self._answered is not None and seconds - self._answered.seconds >= SETTLE_SECONDS:
            return self._answered
        if seconds > self._budget:
            return TimedOut(seconds, f"not ready after {seconds:.0f} s; last: {self._last()}")
        if now - self._moved > self._stall_after + STALL_MARGIN_SECONDS:
            return Stalled(seconds, f"no news for {now - self._moved:.0f} s; last: {self._last()}")
        return None

    def waiting(self, now: float) -> Waiting:
        """Where the load stands, for a progress display."""
        text = self._state.status_text if self._state else ""
        told = status_text.parse(text)
        elapsed = now - self._started
        if told is None:
            return Waiting(text or "starting", None, None, elapsed)
        return Waiting(told.segment, told.percent, told.eta, elapsed)

    def _ended_badly(self, state: UnitState) -> bool:
        replaced = self._invocation is not None and state.invocation not in ("", self._invocation)
        stopped = self._invocation is not None and state.active is Active.INACTIVE
        return state.failed or replaced or stopped

    def _judge_end(self, state: UnitState, now: float) -> None:
        if state.exit_status == ExitCode.STALLED and not self._fatal_at:
            self._end = Stalled(now - self._started, state.status_text or "the launcher saw nothing move any more")
            return
        self._mark_fatal(now, self._end_reason(state))

    @staticmethod
    def _end_reason(state: UnitState) -> str:
        if state.failed:
            return state.status_text or f"{state.active.value}, result {state.result}, exit status {state.exit_status}"
        if state.active is Active.INACTIVE:
            return _STOPPED
        return "this run ended and another one began: the host was rebooted, or systemd started the unit again"

    def _mark_fatal(self, now: float, reason: str) -> None:
        if self._fatal_at is None:
            self._fatal_at = now
            self._fatal_reason = reason

    def _died_of(self) -> str:
        # what the log itself says of the crash tells more than what systemd saw of it
        lines = (self._crash.reason or self._fatal_reason).splitlines()
        return lines[0][:_LONGEST_REASON] if lines else ""

    def _last(self) -> str:
        return (self._state.status_text or self._state.active.value) if self._state else "no state seen"
