"""What the page shows, brought up to date at most once a second, whoever asks; a row is rendered only when it changed."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ddtree_ops.exporter.page.render import template
from ddtree_ops.exporter.page.row import Row, rows
from ddtree_ops.exporter.page.table import Entry
from ddtree_ops.exporter.sight.model import HostSight
from ddtree_ops.exporter.sight.readings import Observed
from ddtree_ops.exporter.sight.sights import Sights

FRESH_SECONDS = 0.9
# Without readers only the history of rates is kept up.
IDLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Drawn:
    """A row as HTML; `version` is that of the frame in which it became so."""

    entry: Entry
    html: str
    version: int


@dataclass(frozen=True, slots=True)
class Frame:
    """All of it at one moment. `epoch` is the process's: versions of another one mean nothing."""

    epoch: str
    version: int
    now: float
    sights: tuple[HostSight, ...] = ()
    drawn: tuple[Drawn, ...] = ()

    @property
    def fleet(self) -> bool:
        """More than this one host."""
        return len(self.sights) > 1

    @property
    def mark(self) -> str:
        """What a browser gives back to say how far it is."""
        return f"{self.epoch}.{self.version}"


class Board:
    """frame() may be called from any thread. start() keeps the history of rates going while nobody looks."""

    def __init__(self, source: Callable[[], Iterable[Observed]], wall: Callable[[], float]) -> None:
        self._source = source
        self._wall = wall
        self._lock = threading.Lock()
        self._sights = Sights()
        self._frame = Frame(secrets.token_hex(4), 0, 0.0)
        self.closing = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._keep_up, name="page-history", daemon=True).start()

    def close(self) -> None:
        """End all streams."""
        self.closing.set()

    def hosts(self) -> tuple[float, tuple[HostSight, ...]]:
        """The sights now, without drawing anything."""
        with self._lock:
            return self._seen()

    def frame(self) -> Frame:
        """What is to be shown now."""
        with self._lock:
            if not 0 <= self._wall() - self._frame.now < FRESH_SECONDS:
                now, sights = self._seen()
                self._frame = _next(self._frame, sights, now)
            return self._frame

    def _seen(self) -> tuple[float, tuple[HostSight, ...]]:
        now = self._wall()
        return now, self._sights.update(self._source(), now)

    def _keep_up(self) -> None:
        while not self.closing.wait(IDLE_SECONDS):
            self.hosts()


def _next(before: Frame, sights: Sequence[HostSight], now: float) -> Frame:
    version = before.version + 1
    known = {drawn.entry.row.id: drawn for drawn in before.drawn}
    drawn = tuple(
        _drawn(Entry(sight, server, row), known.get(row.id), version)
        for sight in sights
        for server, row in zip(sight.servers, rows(sight, len(sights) > 1), strict=True)
    )
    return Frame(before.epoch, version, now, tuple(sights), drawn)


def _drawn(entry: Entry, before: Drawn | None, version: int) -> Drawn:
    if before is not None and before.entry.row == entry.row:
        return Drawn(entry, before.html, before.version)
    return Drawn(entry, _html(entry.row), version)


def _html(row: Row) -> str:
    return template("row.html.j2").render(r=row)
