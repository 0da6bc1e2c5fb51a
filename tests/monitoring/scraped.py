"""A Prometheus that really runs, and what it scrapes: a host's exporter and server, played by one HTTP server on loopback."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ddtree_ops.exporter.discovery.routes import routes
from ddtree_ops.exporter.discovery.targets import Discovery
from ddtree_ops.exporter.web.messages import Request
from ddtree_ops.exporter.web.routes import Routes
from tests.ports import free_port

RECORDED = Path(__file__).parent / "data" / "sglang.metrics.txt"
#: No answer within this is none. Prometheus takes up targets every five seconds, whatever is configured.
HANGS = 120.0
USER, PASSWORD = "prometheus", "of the exporter"
_OWN = b'# TYPE ddtree_ops_server_ready gauge\nddtree_ops_server_ready{port="30000"} 1\n'


class Played(ThreadingHTTPServer):
    """What was asked is in `asked`: path, query, whether the exporter's password came with it."""

    daemon_threads = True

    def __init__(self, port: int, discovery: Discovery) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.discovery = discovery
        self.routes = Routes(*routes(discovery))
        self.asked: set[tuple[str, str, bool]] = set()


class _Handler(BaseHTTPRequestHandler):
    server: Played

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        trusted = self.headers.get("Authorization") == f"Basic {basic}"
        self.server.asked.add((path, query, trusted))
        if path == "/metrics" and not trusted:  # the server itself: it listens wider
            return self._answer(200, RECORDED.read_bytes())
        if not trusted and path != "/probe":
            return self._answer(401, b"")
        if path.startswith("/sd/"):
            self.server.discovery.found()  # what the exporter's collector `discovery` does on its own period
            route, params = self.server.routes.find(path)
            told = route.handler(Request(path, params=params))
            return self._answer(told.status, bytes(told.body), told.content_type)  # type: ignore[arg-type]
        known = {"/metrics": _OWN, "/probe": b"probe_success 1\n", "/server/30000/metrics": RECORDED.read_bytes()}
        return self._answer(200 if path in known else 404, known.get(path, b""))

    def _answer(self, status: int, body: bytes, kind: str = "text/plain; version=0.0.4; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def played(port: int, inventory: Path) -> Iterator[Played]:
    """Exporter, server and blackbox exporter of every host of the inventory, at one port."""
    with Played(port, Discovery(inventory)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Prometheus:
    """Answers of its HTTP API (prometheus.io/docs, "HTTP API")."""

    def __init__(self, port: int) -> None:
        self._root = f"http://127.0.0.1:{port}/api/v1/"

    def get(self, path: str, **query: str) -> Any:
        with urllib.request.urlopen(f"{self._root}{path}?{urllib.parse.urlencode(query)}", timeout=HANGS) as answer:  # noqa: S310
            return json.load(answer)["data"]

    def series(self, query: str) -> list[dict[str, str]]:
        return [one["metric"] for one in self.get("query", query=query)["result"]]

    def until(self, query: str, count: int, seconds: float = HANGS) -> list[dict[str, str]]:
        """Wait until the query gives so many series."""
        end = time.monotonic() + seconds
        found: list[dict[str, str]] = []
        while time.monotonic() < end:
            with suppress(OSError):  # it doesn't listen yet
                found = self.series(query)
            if len(found) >= count:
                return found
            time.sleep(0.2)
        raise AssertionError(f"{query} gave {len(found)} series in {seconds} s, not {count}")


@contextmanager
def prometheus(config: Path, folder: Path) -> Iterator[Prometheus]:
    """Debian's own, on a port that is free."""
    port = free_port()
    argv = ("prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}", f"--web.listen-address=127.0.0.1:{port}")
    with (folder.parent / "prometheus.log").open("wb") as log:
        process = subprocess.Popen((*argv, "--log.level=warn"), stdout=log, stderr=log)
        try:
            yield Prometheus(port)
        finally:
            process.terminate()
            process.wait(20)
