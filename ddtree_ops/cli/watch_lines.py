"""`status --watch` where there is no terminal: a line for each change, for people or as JSON for scripts."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ddtree_ops.exporter.sight.document import host_data
from ddtree_ops.exporter.sight.model import HostSight, State
from ddtree_ops.exporter.sight.row import Row, rows

SCHEMA = "ddtree-ops/status-change/v1"


class Changes:
    """Which hosts are told of: each the first time, and when what `matters` of it has changed."""

    def __init__(self, matters: Callable[[HostSight], tuple[Any, ...]]) -> None:
        self._matters = matters
        self._told: dict[str, tuple[Any, ...]] = {}

    def of(self, sights: Iterable[HostSight]) -> Iterator[HostSight]:
        for sight in sights:
            found = self._matters(sight)
            if self._told.get(sight.host) != found:
                self._told[sight.host] = found
                yield sight


def lines(sight: HostSight, when: str, now: float) -> Iterator[str]:
    """One line a server: time, host, state, what else there is to say."""
    for row in rows(sight):
        yield "  ".join(filter(None, (when, row.host, row.word, *_words(row, now))))


def document(sight: HostSight, when: str) -> str:
    """One JSON object on one line, ASCII only."""
    told = {"schema": SCHEMA, "time": when, "host": sight.host, "status": host_data(sight)}
    return json.dumps(told, default=dataclasses.asdict)


def words(sight: HostSight) -> tuple[str, ...]:
    """The lines without their times: how long ago something was is no change."""
    return tuple(lines(sight, "", 0.0))


def facts(sight: HostSight) -> tuple[Any, ...]:
    """All but traffic, and of a load each tenth."""
    servers = tuple(
        (one.port, one.state, one.reason, _tenth(row.percent), one.load.phase, one.restarts, one.settings, one.last_failure)
        for one, row in zip(sight.servers, rows(sight), strict=True)
    )
    return servers, sight.problem, sight.drift, sight.deadline


def _words(row: Row, now: float) -> Iterator[str]:
    progress = "" if row.percent is None else f"{_tenth(row.percent)}%"
    yield f"{row.phase} {progress}".strip()
    yield row.reason
    if row.state is State.FAILED:
        yield row.last_failure(now)
    if row.restarted:
        yield f"{row.restarts} restarts"
    if row.drifted:
        yield f"drift {row.drift}"


def _tenth(percent: int | None) -> int | None:
    """A load tells of every tenth of it, not of each percent."""
    return None if percent is None else percent // 10 * 10
