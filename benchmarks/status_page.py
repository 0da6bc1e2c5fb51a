"""What the status page of a large fleet costs, in CPU seconds: run by hand, or as part of `benchmarks.exporter`.

    python -m benchmarks.status_page [--hosts 1000]

Every host has its full history of rates. Told are, of one request each:

    first       the first page of the process, some seconds after its start
    all new     every server was read again, and each of its numbers changed
    unchanged   a second later, without any reading
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from ddtree_ops.exporter.page import board
from ddtree_ops.exporter.page.routes import StatusPage
from ddtree_ops.exporter.sight.history import POINTS
from ddtree_ops.exporter.web.messages import Request
from tests.exporter.fleet_model import NOW, Model, observed, read_later

READ_SECONDS = 5.0


class Fleet:
    """So many serving hosts, at a time of its own."""

    def __init__(self, count: int) -> None:
        self.now = NOW
        self._models = [Model(f"h{index}", queued=index % 7, steps=1, committed=4) for index in range(count)]
        self.found = [observed(model) for model in self._models]

    def read(self) -> None:
        """All servers again, a period later."""
        self.now += READ_SECONDS
        moved = [2000.0 + 37 * (index % 11) * (self.now % 13) for index in range(len(self._models))]
        self._models = [
            replace(one, generated=(one.generated or 0) + tokens, steps=one.steps + tokens / 4, committed=one.committed + tokens)
            for one, tokens in zip(self._models, moved, strict=True)
        ]
        self.found = [read_later(one, model, READ_SECONDS) for one, model in zip(self.found, self._models, strict=True)]


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description="cost of the status page")
    parser.add_argument("--hosts", type=int, default=1000)
    fleet = Fleet(parser.parse_args().hosts)
    shown = board.Board(lambda: fleet.found, lambda: fleet.now)
    shown.start()
    page = StatusPage(shown, lambda _host, _fingerprint: None)
    for _ in range(POINTS):
        fleet.read()
        shown.hosts()
    time.sleep(1.0)  # what a start prepares is done in a thread
    told = [f"first {request(page)}"]
    fleet.read()
    told.append(f"all new {request(page)}")
    fleet.now += 1.0
    told.append(f"unchanged {request(page)}")
    sys.stdout.write(f"{'page':>12}  {', '.join(told)} of {len(fleet.found)} hosts\n")


def request(page: StatusPage) -> str:
    """One page: its CPU seconds and size."""
    begin = time.process_time()
    body = page.page(Request("/", {}, {})).body
    size = len(body) if isinstance(body, bytes) else 0
    return f"{time.process_time() - begin:.3f} s CPU ({size / 1e6:.1f} MB)"


if __name__ == "__main__":
    main()
