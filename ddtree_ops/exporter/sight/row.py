"""One server in words, as every table shows it: what page and terminal add is HTML or colours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.exporter.sight.model import Failure, HostSight, Load, Server, State
from ddtree_ops.exporter.sight.words import UNKNOWN, ago, hundredths, number, plain, span

KV_FULL = 90  # per cent


class Severity(StrEnum):
    """What a colour means. A state is never told by colour alone: it has its word and its shape as well."""

    BAD = "bad"  # somebody has to act
    WARNING = "warning"
    BUSY = "busy"
    LOST = "lost"  # can't be seen
    QUIET = "quiet"
    GOOD = "good"


STATES = {
    State.FAILED: ("failed", Severity.BAD),
    State.UNANSWERING: ("not answering", Severity.BAD),
    State.STALLED: ("stalled", Severity.WARNING),
    State.LOADING: ("loading", Severity.BUSY),
    State.UNREACHABLE: ("unreachable", Severity.LOST),
    State.UNKNOWN: ("not known", Severity.QUIET),
    State.STOPPING: ("stopping", Severity.QUIET),
    State.STOPPED: ("stopped", Severity.QUIET),
    State.ABSENT: ("no server", Severity.QUIET),
    State.SERVING: ("serving", Severity.GOOD),
}


@dataclass(frozen=True, slots=True)
class FailureWords:
    """The newest root failure; `last` is Unix time."""

    kind: str
    last: int
    fingerprint: str
    cause: str


@dataclass(frozen=True, slots=True)
class Row:
    """Times (`seen`, `moved`) are Unix seconds: how long ago they are changes, a row doesn't. `percent` is 0 to 100."""

    host: str
    hardware: str
    state: State
    phase: str
    percent: int | None
    left: str
    moved: int | None
    reason: str
    seen: int | None
    notes: tuple[str, ...]
    model: str
    release: str
    running: str
    queued: str
    waits: bool
    tokens: str
    tokens_series: tuple[float | None, ...]
    acceptance: str
    acceptance_series: tuple[float | None, ...]
    restarts: str
    restarted: bool
    drift: str
    drifted: bool
    failure: FailureWords | None

    @property
    def word(self) -> str:
        return STATES[self.state][0]

    @property
    def severity(self) -> Severity:
        return STATES[self.state][1]

    def details(self, now: float) -> Iterator[str]:
        """What the state alone doesn't say, but the percentage."""
        moved = "" if self.moved is None else f"last moved {ago(self.moved, now)}"
        seen = "" if self.seen is None else f"last seen {ago(self.seen, now)}"
        yield from filter(None, (self.phase, moved, self.left, self.reason, *self.notes, seen))

    def last_failure(self, now: float) -> str:
        """Kind and age; empty if there is none."""
        return f"{self.failure.kind} {ago(self.failure.last, now)}" if self.failure else ""


def rows(sight: HostSight) -> Iterator[Row]:
    """One a server, in their order."""
    for server in sight.servers:
        yield _row(sight, server)


def is_loading(state: State) -> bool:
    return state in (State.LOADING, State.STALLED)


def phase_words(phase: str | None) -> str:
    """`graph capture`; nothing while there is no phase."""
    return "" if phase in (None, "none") else plain(str(phase)).replace("_", " ")


def _left(load: Load) -> str:
    """How long a load still takes, or has taken."""
    if load.eta is not None:
        return f"{span(load.eta)} left"
    return f"for {span(load.elapsed)}" if load.elapsed is not None else ""


def problem_words(sight: HostSight) -> str:
    """Why the host can't be read, without its name before it: that stands beside it."""
    return plain((sight.problem or "").removeprefix(f"{sight.host}: "), 300)


def _row(sight: HostSight, server: Server) -> Row:
    traffic, settings = server.traffic, server.settings
    load = server.load if is_loading(server.state) else Load()
    port = f":{server.port}" if len(sight.servers) > 1 and server.port is not None else ""
    drift = sight.drift_items
    return Row(
        host=plain(sight.host) + port,
        hardware=plain(sight.hardware or ""),
        state=server.state,
        phase=phase_words(load.phase),
        percent=hundredths(load.progress),
        left=_left(load),
        moved=int(load.moved) if server.state is State.STALLED and load.moved is not None else None,
        reason=_reason(sight, server),
        seen=int(sight.read) if sight.stale and sight.read is not None else None,
        notes=tuple(_notes(sight, server)),
        model=plain(settings.model or UNKNOWN),
        release=plain(settings.serving or settings.current or UNKNOWN),
        running=number(traffic.running),
        queued=number(traffic.queued),
        waits=bool(traffic.queued),
        tokens=number(traffic.tokens, 1),
        tokens_series=traffic.tokens_series,
        acceptance=number(traffic.acceptance, 2),
        acceptance_series=traffic.acceptance_series,
        restarts=number(server.restarts),
        restarted=bool(server.restarts),
        drift=number(drift),
        drifted=bool(drift),
        failure=_failure(server.last_failure),
    )


def _reason(sight: HostSight, server: Server) -> str:
    if server.state is State.UNREACHABLE:
        return problem_words(sight)
    return plain(server.reason)


def _notes(sight: HostSight, server: Server) -> Iterator[str]:
    """What is no reason for the state, but to be known."""
    full = hundredths(server.traffic.kv_used)
    if server.state is State.SERVING and full is not None and full >= KV_FULL:
        yield f"KV pool {full}% full"
    if sight.deadline is not None:
        yield "a deploy isn't committed yet"


def _failure(last: Failure | None) -> FailureWords | None:
    return FailureWords(plain(last.kind, 60), int(last.last), last.fingerprint, plain(last.cause, 300)) if last else None
