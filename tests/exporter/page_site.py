"""The page on a real socket: the exporter's own server over a fleet that a test changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from ddtree_ops.exporter.page.board import Board
from ddtree_ops.exporter.page.reports import Reports
from ddtree_ops.exporter.page.routes import StatusPage
from ddtree_ops.exporter.sight.readings import Observed
from ddtree_ops.exporter.web.address import Address
from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.routes import Routes
from tests.exporter.running_server import running


class PageSite:
    """Serves `fleet`, which may be replaced at any time; stop() and start() are a restart of the exporter on the same port."""

    def __init__(self, fleet: Sequence[Observed], wall: Callable[[], float] = time.time, reports: Reports | None = None) -> None:
        self.fleet = fleet
        self._wall = wall
        self._reports = reports or (lambda _host, _fingerprint: None)
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.board = Board(lambda: self.fleet, self._wall)
        page = StatusPage(self.board, self._reports)
        self._running = ExitStack()
        site = running(Address("127.0.0.1", self.port), Routes(*page.routes()), Guard(None))
        self.port = self._running.enter_context(site)

    def stop(self) -> None:
        self._running.close()
        self.board.close()
