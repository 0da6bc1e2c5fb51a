"""What the page shows, brought up to date at most once a second, whoever asks; a row is rendered only when it changed."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ddtree_ops.exporter.page.render import prepare
from ddtree_ops.exporter.page.row import row_html, row_id
from ddtree_ops.exporter.sight.model import HostSight, Server, State
from ddtree_ops.exporter.sight.order import counts
from ddtree_ops.exporter.sight.readings import Observed
from ddtree_ops.exporter.sight.row import Row, rows
from ddtree_ops.exporter.sight.sights import Sights

FRESH_SECONDS = 0.9
# Without readers only the history of rates is kept up.
IDLE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Drawn:
    """A server's row as HTML; `version` is that of the frame in which it became so, `id` that of its element."""

    sight: HostSight
    server: Server
    row: Row
    id: str
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
    counts: tuple[tuple[State, int], ...] = ()

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
        """Of a fleet, nobody shall wait for templates: of one host, most exporters never show a page."""
        going = True
        while going:
            if len(self.hosts()[1]) > 1:
                prepare()
            going = not self.closing.wait(IDLE_SECONDS)


def _next(before: Frame, sights: Sequence[HostSight], now: float) -> Frame:
    version, fleet = before.version + 1, len(sights) > 1
    known = {one.id: one for one in before.drawn} if before.fleet == fleet else {}
    drawn = tuple(one for sight in sights for one in _drawn(sight, known, version, fleet))
    return Frame(before.epoch, version, now, tuple(sights), drawn, counts(one.server.state for one in drawn))


def _drawn(sight: HostSight, known: Mapping[str, Drawn], version: int, fleet: bool) -> Iterator[Drawn]:
    for server, row in zip(sight.servers, rows(sight), strict=True):
        name = row_id(sight.host, server.port)
        before = known.get(name)
        if before is not None and before.row == row:
            yield Drawn(sight, server, row, name, before.html, before.version)
        else:
            yield Drawn(sight, server, row, name, row_html(row, name, sight.host, fleet), version)
