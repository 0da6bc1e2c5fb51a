"""One question at a time for a port and path, and what is passed through, with a real server on the loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.adapters.local import LocalShell
from ddtree_ops.adapters.local_http import LocalHttp
from ddtree_ops.errors import Unreachable
from ddtree_ops.exporter.catalogue import server as catalogue
from ddtree_ops.exporter.collectors.health import HealthCollector
from ddtree_ops.exporter.collectors.server import ServerCollector
from ddtree_ops.exporter.loopback import HEALTH, METRICS, Loopback
from ddtree_ops.exporter.pass_through import passed_through
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.sight.readings import Readings
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.web.messages import Request, Response
from ddtree_ops.ports import Command, Completed, Http, HttpRequest, HttpResponse
from tests.exporter.shells import Answering, Silent

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Server(ThreadingHTTPServer):
    """Answers as it is told, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.body, self.kind = 200, b"sglang:num_running_reqs 2.0\n", "text/plain; version=0.0.4; charset=utf-8"
        self.headers_seen: list[dict[str, str]] = []
        self.running = self.most_running = self.asked = 0
        self.hold = threading.Event()
        self.hold.set()
        self.lock = threading.Lock()

    @property
    def port(self) -> int:
        return self.server_address[1]


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        with server.lock:
            server.running += 1
            server.asked += 1
            server.most_running = max(server.most_running, server.running)
            server.headers_seen.append(dict(self.headers))
        server.hold.wait(5)
        with server.lock:
            server.running -= 1
        self.send_response(server.status)
        self.send_header("Content-Type", server.kind)
        self.send_header("Content-Length", str(len(server.body)))
        self.send_header("Location", "http://elsewhere/")
        self.end_headers()
        self.wfile.write(server.body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    found.hold.set()
    found.shutdown()
    found.server_close()


class Lost(LocalShell):
    """A host that can't be asked."""

    def run(self, command: Command) -> Completed:
        raise Unreachable(command.argv[0])


def target(http: Http, *ports: int) -> Target:
    found = Target(LocalShell("here"), http)
    found._all, found._read_at = ports, time.monotonic()
    return found


def asked(host: Target, page: str, port: int | str) -> Response:
    headers = {"authorization": "Basic c2VjcmV0", "accept": OPENMETRICS}
    return passed_through(host, Request("/", params={"port": str(port), "page": page}, headers=headers))


def test_askers_share_the_one_answer_that_is_under_way(server: Server) -> None:
    server.hold.clear()
    loopback = Loopback(LocalHttp(), time.monotonic)
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(loopback.get, server.port, HEALTH) for _ in range(8)]
        while server.running == 0:
            time.sleep(0.005)
        time.sleep(0.05)
        server.hold.set()
        answers = {one.result(5) for one in waiting}
    assert (server.asked, server.most_running, len(answers)) == (1, 1, 1)
    loopback.get(server.port, HEALTH)
    assert server.asked == 2, "an answer is not kept beyond what the asker allows"


def test_an_answer_may_be_so_old_and_no_older(server: Server) -> None:
    now = [100.0]
    loopback = Loopback(LocalHttp(), lambda: now[0])
    loopback.get(server.port, METRICS)
    now[0] += 5
    loopback.get(server.port, METRICS, fresh=5)
    assert server.asked == 1
    loopback.get(server.port, METRICS, fresh=4.9)
    assert server.asked == 2


def test_a_failed_question_leaves_nothing_behind() -> None:
    errors: list[Exception] = [TimeoutError("slow"), Unreachable("lost")]

    def answer(_: HttpRequest) -> HttpResponse:
        if errors:
            raise errors.pop(0)
        return HttpResponse(200, b"", 0.0)

    loopback = Loopback(Answering(answer), time.monotonic)
    for kind in (TimeoutError, Unreachable):
        with pytest.raises(kind):
            loopback.get(1, METRICS, fresh=60)
    assert loopback.get(1, METRICS, fresh=60).status == 200


def test_the_servers_answer_is_passed_as_it_is_and_nothing_of_the_client(server: Server) -> None:
    got = asked(target(LocalHttp(), server.port), "metrics", server.port)
    assert (got.status, got.content_type, got.body) == (200, server.kind, server.body)
    assert "Location" not in got.headers
    (seen,) = server.headers_seen
    assert "Authorization" not in seen and OPENMETRICS not in seen.values()


def test_only_ports_of_our_units_are_asked(server: Server) -> None:
    known = target(LocalHttp(), 30000)
    for port in (server.port, "0", "-1", "65536", "30000x", "²"):
        assert asked(known, "metrics", port).status == 404
    for page in ("generate", "v1", "", "metrics/"):
        assert asked(known, page, 30000).status == 404
    assert server.asked == 0


def test_a_port_that_is_known_waits_for_no_systemd(server: Server) -> None:
    known = target(LocalHttp(), server.port)
    known._read_at, known.shell = 0.0, Lost()
    assert asked(known, "metrics", server.port).status == 200
    assert asked(known, "metrics", 30001).status == 502, "asked, in vain"


@pytest.mark.parametrize(("given", "passed"), [(200, 200), (503, 503), (404, 404), (302, 502), (500, 500)])
def test_status_of_health(server: Server, given: int, passed: int) -> None:
    server.status, server.body = given, b""
    assert asked(target(LocalHttp(), server.port), "health", server.port).status == passed


def test_a_page_is_never_served_in_our_name(server: Server) -> None:
    server.kind, server.body = "text/html; charset=utf-8", b"<script>alert(1)</script>"
    assert asked(target(LocalHttp(), server.port), "health", server.port).content_type.startswith("text/plain")


def test_what_does_not_answer() -> None:
    assert asked(target(Silent(), 30000), "metrics", 30000).status == 503

    def late(_: HttpRequest) -> HttpResponse:
        raise TimeoutError

    def lost(_: HttpRequest) -> HttpResponse:
        raise Unreachable("lost")

    assert asked(target(Answering(late), 30000), "health", 30000).status == 504
    assert asked(target(Answering(lost), 30000), "health", 30000).status == 502


def raw_server(answer: bytes) -> tuple[socket.socket, int]:
    """Says the same to everybody, whatever that is."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                one, _ = listening.accept()
                with one, suppress(OSError):
                    one.recv(65536)
                    one.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return listening, listening.getsockname()[1]


NOISE = bytes(range(128, 256)) * 50
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
NO_HTTP, LARGE = "the answer is no HTTP", "more than"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (NOISE, NO_HTTP),
        (HEAD + b"X: " + b"y" * 100_000 + b"\r\n\r\n", "the answer "),
        (HEAD + b"\r\n" + b"sglang:num_running_reqs 1\n" * 100_000, LARGE),
    ],
    ids=["noise", "a long header", "too large"],
)
@pytest.mark.parametrize("page", ["metrics", "health"])
def test_an_answer_that_is_none_is_no_refusal(answer: bytes, why: str, page: str) -> None:
    listening, port = raw_server(answer)
    with listening:
        got = asked(target(LocalHttp(), port), page, port)
    assert isinstance(got.body, bytes)
    assert (got.status, why in got.body.decode()) == (502, True)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody listens
        port = silent.getsockname()[1]
        refused = asked(target(LocalHttp(), port), page, port)
    assert isinstance(refused.body, bytes)
    assert (refused.status, b"refuses" in refused.body) == (503, True)


@pytest.mark.parametrize("body", [b"", NOISE, b"hello 5\n", b"# TYPE sglang:x gauge\n", b"sglang:num_running_reqs five\n"])
def test_metrics_of_something_else_are_no_server_that_is_up(server: Server, body: bytes) -> None:
    server.body, collector = body, ServerCollector(host := target(LocalHttp(), server.port))
    found = Sampler([collector], SystemClock()).read_once()
    assert Readings(found).value(catalogue.HTTP_UP, str(server.port)) == 0
    assert not found.states["server"].success
    assert "/metrics isn't understood" in (found.states["server"].error or "")
    server.body = b"sglang:num_running_reqs 2.0\n"
    host.loopback = target(LocalHttp(), server.port).loopback  # else a fresh answer would do
    found = Sampler([collector], SystemClock()).read_once()
    assert (Readings(found).value(catalogue.HTTP_UP, str(server.port)), found.states["server"].success) == (1, True)


@pytest.mark.parametrize(
    ("body", "well"), [(b"", 1), (b"ok\n", 1), (b'{"status": "ok"}', 1), (NOISE, 0), (b" <html>ok</html>", 0)]
)
def test_health_of_something_else_is_none(server: Server, body: bytes, well: int) -> None:
    server.body = body
    found = Sampler([HealthCollector(target(LocalHttp(), server.port))], SystemClock()).read_once()
    assert (Readings(found).value(catalogue.HEALTH, str(server.port)), found.states["health"].success) == (well, bool(well))


def test_collectors_tell_a_server_that_answers(server: Server) -> None:
    host = target(LocalHttp(), server.port, 1)
    found = {(one.metric.name, one.labels): one.value for one in (*ServerCollector(host).read(), *HealthCollector(host).read())}
    mine, closed = (str(server.port),), ("1",)
    assert found["ddtree_ops_server_http_up", mine] == found["ddtree_ops_server_health_success", mine] == 1
    assert found["ddtree_ops_server_requests_running", mine] == 2
    assert found["ddtree_ops_server_http_up", closed] == found["ddtree_ops_server_health_success", closed] == 0
    assert ("ddtree_ops_server_health_duration_seconds", closed) not in found
    assert server.asked == 2


def test_collectors_tell_a_server_that_hangs_or_says_no() -> None:
    def late(_: HttpRequest) -> HttpResponse:
        raise TimeoutError

    host = target(Answering(late), 30000)
    assert [one.value for one in ServerCollector(host).read()] == [0]
    assert [one.metric.name for one in HealthCollector(host).read()][-1].endswith("duration_seconds")
    starting = target(Answering(lambda _: HttpResponse(503, b"sglang:num_running_reqs 2.0\n", 0.2)), 30000)
    assert [one.value for one in (*ServerCollector(starting).read(), *HealthCollector(starting).read())] == [0, 0, 0.2]
