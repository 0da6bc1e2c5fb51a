"""A server as the words of one row of the fleet's table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from ddtree_ops.exporter.page.spark import Spark, spark
from ddtree_ops.exporter.sight.model import HostSight, Server, State
from ddtree_ops.exporter.sight.words import UNKNOWN, number, percent, plain, span

STATE_WORDS = {
    State.FAILED: "failed",
    State.UNANSWERING: "not answering",
    State.STALLED: "stalled",
    State.LOADING: "loading",
    State.UNREACHABLE: "unreachable",
    State.UNKNOWN: "not known",
    State.STOPPING: "stopping",
    State.STOPPED: "stopped",
    State.ABSENT: "no server",
    State.SERVING: "serving",
}


@dataclass(frozen=True, slots=True)
class FailureWords:
    kind: str
    when: int
    href: str
    cause: str


@dataclass(frozen=True, slots=True)
class Row:
    """Everything is text for people, but times: how long ago they are, is written when the row is sent (render.timed)."""

    id: str
    host: str
    href: str
    hardware: str
    state: str
    word: str
    reason: str
    seen: int | None
    phase: str
    percent: int | None
    left: str
    moved: int | None
    model: str
    release: str
    running: str
    queued: str
    waits: bool
    tokens: str
    tokens_spark: Spark | None
    acceptance: str
    acceptance_spark: Spark | None
    restarts: str
    restarted: bool
    drift: str
    drifted: bool
    failure: FailureWords | None


def rows(sight: HostSight, fleet: bool) -> Iterator[Row]:
    """One row a server. In a fleet, reports are those of one of several hosts."""
    for server in sight.servers:
        yield _row(sight, server, fleet)


def row_id(host: str, port: int | None) -> str:
    """An HTML id that is the host's and port's own, whatever characters they have."""
    return "r" + hashlib.sha256(f"{host}\0{port}".encode()).hexdigest()[:12]


def phase_words(phase: str | None) -> str:
    return "" if phase in (None, "none") else plain(str(phase)).replace("_", " ")


def report_href(host: str, fingerprint: str, fleet: bool) -> str:
    """Where the failure's report lies."""
    return f"/reports/{quote(fingerprint, safe='')}" + (f"?host={quote(host, safe='')}" if fleet else "")


def failure_words(sight: HostSight, server: Server, fleet: bool) -> FailureWords | None:
    last = server.last_failure
    if last is None:
        return None
    return FailureWords(
        plain(last.kind, 60), int(last.last), report_href(sight.host, last.fingerprint, fleet), plain(last.cause, 300)
    )


def left_words(server: Server) -> str:
    """How long a load still takes, or has taken."""
    load = server.load
    if load.eta is not None:
        return f"{span(load.eta)} left"
    return f"for {span(load.elapsed)}" if load.elapsed is not None else ""


def _row(sight: HostSight, server: Server, fleet: bool) -> Row:
    load, traffic, settings = server.load, server.traffic, server.settings
    loading = server.state in (State.LOADING, State.STALLED)
    several = len(sight.servers) > 1
    drift = sight.drift_items
    return Row(
        id=row_id(sight.host, server.port),
        host=plain(sight.host) + (f":{server.port}" if several and server.port else ""),
        href=f"/?host={quote(sight.host, safe='')}",
        hardware=plain(sight.hardware or ""),
        state=str(server.state),
        word=STATE_WORDS[server.state],
        reason=_reason(sight, server),
        seen=int(sight.read) if sight.stale and sight.read is not None else None,
        phase=phase_words(load.phase) if loading else "",
        percent=int(load.progress * 100 + 1e-9) if loading and load.progress is not None else None,
        left=left_words(server) if loading else "",
        moved=int(load.moved) if server.state is State.STALLED and load.moved is not None else None,
        model=plain(settings.model or UNKNOWN),
        release=plain(settings.serving or settings.current or UNKNOWN),
        running=number(traffic.running),
        queued=number(traffic.queued),
        waits=bool(traffic.queued),
        tokens=number(traffic.tokens, 1),
        tokens_spark=spark(traffic.tokens_series, "tokens a second"),
        acceptance=number(traffic.acceptance, 2),
        acceptance_spark=spark(traffic.acceptance_series, "tokens per verify step"),
        restarts=number(server.restarts),
        restarted=bool(server.restarts),
        drift=number(drift),
        drifted=bool(drift),
        failure=failure_words(sight, server, fleet),
    )


def _reason(sight: HostSight, server: Server) -> str:
    if server.state is State.UNREACHABLE:
        return plain(sight.problem or "")
    if server.reason:
        return server.reason
    if server.state is State.SERVING and server.traffic.kv_used is not None and server.traffic.kv_used >= 0.9:
        return f"KV pool {percent(server.traffic.kv_used)} full"
    return ""
