"""What `status --watch` shows of a server, in words; no drawing here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddtree_ops.exporter.sight.model import RANK, HostSight, Server, State
from ddtree_ops.exporter.sight.words import UNKNOWN, ago, number, plain, span

# Shape, its ASCII form, word, style: a state is never told by its colour alone.
STATES = {
    State.FAILED: ("✖", "x", "failed", "bold red"),
    State.UNANSWERING: ("⊗", "!", "not answering", "bold red"),
    State.STALLED: ("▲", "!", "stalled", "bold yellow"),
    State.LOADING: ("◐", "~", "loading", "bold blue"),
    State.UNREACHABLE: ("⊘", "?", "unreachable", "bold magenta"),
    State.UNKNOWN: ("○", "?", "not known", "dim"),
    State.STOPPING: ("□", "-", "stopping", ""),
    State.STOPPED: ("■", "-", "stopped", ""),
    State.ABSENT: ("–", "-", "no server", "dim"),
    State.SERVING: ("●", "*", "serving", "green"),
}
_BLOCKS = "▁▂▃▄▅▆▇█"
SPARK = 16


@dataclass(frozen=True, slots=True)
class Row:
    """One server of one host."""

    sight: HostSight
    server: Server

    @property
    def name(self) -> str:
        several = len(self.sight.servers) > 1 and self.server.port is not None
        return plain(self.sight.host, 60) + (f":{self.server.port}" if several else "")

    @property
    def loading(self) -> bool:
        return self.server.state in (State.LOADING, State.STALLED)


def rows(sights: Sequence[HostSight]) -> list[Row]:
    """Worst first, else in the inventory's order."""
    found = [Row(sight, server) for sight in sights for server in sight.servers]
    return sorted(found, key=lambda row: RANK[row.server.state])


def detail(row: Row, now: float) -> str:
    """What the state alone doesn't say."""
    return ", ".join(_details(row, now))


def failure(row: Row, now: float) -> str:
    last = row.server.last_failure
    return "" if last is None else f"{plain(last.kind, 60)} {ago(last.last, now)}"


def requests(row: Row) -> str:
    traffic = row.server.traffic
    return f"{number(traffic.running)}/{number(traffic.queued)}"


def blocks(series: Sequence[float | None]) -> str:
    """The newest values as a line of blocks; a space where nothing was known."""
    shown = series[-SPARK:]
    top = max((value for value in shown if value is not None), default=0.0)
    if top <= 0:
        return ""
    return "".join(" " if value is None else _BLOCKS[min(7, int(value / top * 7.99))] for value in shown)


def release(row: Row) -> str:
    settings = row.server.settings
    return plain(settings.serving or settings.current or UNKNOWN, 60)


def _details(row: Row, now: float) -> Iterator[str]:
    server, sight = row.server, row.sight
    if row.loading:
        if server.load.phase not in (None, "none"):
            yield str(server.load.phase).replace("_", " ")
        if server.load.eta is not None:
            yield f"{span(server.load.eta)} left"
        elif server.load.elapsed is not None:
            yield f"for {span(server.load.elapsed)}"
        if server.state is State.STALLED and server.load.moved is not None:
            yield f"last moved {ago(server.load.moved, now)}"
    if server.state is State.UNREACHABLE and sight.problem:
        yield plain(sight.problem, 80)
    if server.reason:
        yield server.reason
    if sight.stale and sight.read is not None:
        yield f"last seen {ago(sight.read, now)}"
    if sight.deadline is not None:
        yield "a deploy isn't committed yet"
