"""`status --watch` where there is no terminal: a line for each change, for people or as JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ddtree_ops.cli.watch_row import STATES, Row, failure
from ddtree_ops.exporter.page.document import host_data
from ddtree_ops.exporter.sight.model import HostSight, State
from ddtree_ops.exporter.sight.words import plain

SCHEMA = "ddtree-ops/status-change/v1"
# A load tells of every tenth of it, not of each percent.
_STEPS = 10


class Changes:
    """Which hosts are told of: each the first time, and when what is `told` of it changed."""

    def __init__(self, told: Callable[[HostSight], tuple[Any, ...]]) -> None:
        self._news = told
        self._told: dict[str, tuple[Any, ...]] = {}

    def of(self, sights: Iterable[HostSight]) -> Iterator[HostSight]:
        for sight in sights:
            news = self._news(sight)
            if self._told.get(sight.host) != news:
                self._told[sight.host] = news
                yield sight


def lines(sight: HostSight, when: str, now: float) -> Iterator[str]:
    """One line a server: time, host, state, what else there is to say."""
    for server in sight.servers:
        row = Row(sight, server)
        yield "  ".join(filter(None, (when, row.name, STATES[server.state][2], *_words(row, now))))


def document(sight: HostSight, when: str) -> str:
    """One JSON object on one line, ASCII only."""
    return json.dumps({"schema": SCHEMA, "time": when, "host": sight.host, "status": _plain(host_data(sight))})


def _words(row: Row, now: float) -> Iterator[str]:
    server, sight = row.server, row.sight
    if row.loading:
        progress = "" if server.load.progress is None else f" {_step(server.load.progress)}0%"
        phase = "" if server.load.phase in (None, "none") else plain(server.load.phase or "").replace("_", " ")
        yield f"{phase}{progress}".strip()
    if server.state is State.UNREACHABLE:
        yield plain(sight.problem or "", 120)
    yield server.reason
    if server.state is State.FAILED:
        yield failure(row, now)
    if server.restarts:
        yield f"{server.restarts} restarts"
    if sight.drift_items:
        yield f"drift {sight.drift_items}"


def words(sight: HostSight) -> tuple[str, ...]:
    """The lines without their times: how long ago something was is no change."""
    return tuple(lines(sight, "", 0.0))


def facts(sight: HostSight) -> tuple[Any, ...]:
    """All but traffic, and of a load each tenth."""
    servers = tuple(
        (one.port, one.state, one.reason, _step(one.load.progress), one.load.phase, one.restarts, one.settings, one.last_failure)
        for one in sight.servers
    )
    return servers, sight.problem, sight.drift, sight.deadline


def _step(progress: float | None) -> int | None:
    return None if progress is None else int(progress * _STEPS)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value
