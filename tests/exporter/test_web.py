"""The exporter's HTTP over real sockets: what clients may do, and what they can't hold up."""

from __future__ import annotations

import gzip
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ddtree_ops.exporter.web import exchange
from ddtree_ops.exporter.web.address import Address
from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.messages import Request, Response, text
from ddtree_ops.exporter.web.routes import Route, Routes
from ddtree_ops.exporter.web.site import MOST_STREAMS, own_names
from tests.exporter.running_server import running
from tests.hang import until

BIG = b"# a line of an exposition\n" * 200


class Stream:
    """Counts its streams that are open."""

    def __init__(self) -> None:
        self.open = 0

    def __call__(self, _request: Request) -> Response:
        return Response(body=self._pieces(), every=0.02)

    def _pieces(self) -> Iterator[bytes]:
        self.open += 1
        try:
            while True:
                yield b": still there\n\n"
        finally:
            self.open -= 1


STREAM = Stream()


def fails(_request: Request) -> Response:
    raise ValueError("secret words of a client")


def breaks(_request: Request) -> Response:
    def pieces() -> Iterator[bytes]:
        yield b"one"
        raise ValueError("secret words of a client")

    return Response(body=pieces())


class Slow:
    """Waits for `go_on`, and counts who does."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.waiting = 0

    def __call__(self, _request: Request) -> Response:
        self.waiting += 1
        self.go_on.wait(10)
        self.waiting -= 1
        return text("at last")


SLOW, STUCK = Slow(), Slow()
HUGE = 32 << 20

ROUTES = (
    Route("/", lambda _request: text("home")),
    Route("/big", lambda _request: Response(body=BIG)),
    Route("/server/<port>/metrics", lambda request: text(f"{request.params['port']} {request.query.get('a')} {request.method}")),
    Route("/events", STREAM),
    Route("/slow", SLOW, waits=True),
    Route("/stuck", STUCK),
    Route("/huge", lambda _request: Response(body=b"x" * HUGE)),
    Route("/flood", lambda _request: Response(body=iter(lambda: b"x" * (1 << 20), b""), every=0.0)),
    Route("/fails", fails),
    Route("/breaks", breaks),
)


@pytest.fixture
def port() -> Iterator[int]:
    yield from served(Address("127.0.0.1", 0), None)


def served(where: Address, config: Path | None, names: frozenset[str] | None = None) -> Iterator[int]:
    with running(where, Routes(*ROUTES), Guard(config), own_names() if names is None else names) as port:
        yield port


def ask(port: int, request: bytes, host: str = "127.0.0.1") -> bytes:
    """All that comes back."""
    with socket.create_connection((host, port), 5) as client:
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(65536), b""))


def get(port: int, path: str, headers: str = "", method: str = "GET") -> tuple[int, bytes, bytes]:
    """Status, head and body."""
    answer = ask(port, f"{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\n{headers}\r\n".encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head, body


def test_paths_queries_and_methods(port: int) -> None:
    assert get(port, "/")[::2] == (200, b"home\n")
    assert get(port, "/server/30000/metrics?a=1&a=2")[2] == b"30000 1 GET\n"
    assert get(port, "/server/30000/metrics", method="HEAD")[::2] == (200, b"")
    assert get(port, "/events", method="HEAD")[::2] == (200, b"")
    assert get(port, "/?" + "&".join(f"a{number}=1" for number in range(99)))[0] == 400
    assert get(port, "http://[/")[0] == get(port, "http://evil.example/")[0] == 421
    assert get(port, "http://localhost/server/1/metrics?a=2")[2] == b"1 2 GET\n"
    assert get(port, "HTTP://127.0.0.1:80")[2] == b"home\n"
    for path in ("/nothing", "/server//metrics", "/server/a%2Fb/metrics", "/server/30000/metrics/", "/server/30000/metricsx"):
        assert get(port, path)[0] == 404
    status, head, _ = get(port, "/", method="POST")
    assert (status, b"Allow: GET, HEAD" in head) == (405, True)
    assert get(port, "/", "Content-Length: 5\r\n")[0] == 400
    assert get(port, "/", "Content-Length: 5\r\n", "POST")[0] == 400
    assert ask(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n").startswith(b"HTTP/1.1 400 ")


def test_gzip_where_it_is_taken(port: int) -> None:
    assert gzip.decompress(get(port, "/big", "Accept-Encoding: br, gzip;q=0.5\r\n")[2]) == BIG
    assert get(port, "/big", "Accept-Encoding: gzip;q=0\r\n")[2] == BIG
    assert get(port, "/big")[2] == BIG


def test_what_is_no_request(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    """A head that is too long ends the connection, and what can't be read is 400 without the client's words."""
    with suppress(ConnectionResetError):
        assert ask(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 20000 + b"\r\n\r\n") == b""
    for nonsense in (
        b"NONSENSE",
        b"GET / HTTP/3.0",
        b"GET /",
        b"\x16\x03\x01\x02\x00\x01",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b",
    ):
        assert ask(port, nonsense + b"\r\n\r\n") == b"HTTP/1.1 400 Bad Request\r\n\r\n"
    assert get(port, "/")[0] == 200
    assert capfd.readouterr().err == ""


def test_a_handler_that_fails_tells_nobody_what_it_was_asked(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, body = get(port, "/fails?a=secret")
    assert status == 500
    log = capfd.readouterr().err
    assert "ValueError in fails" in log
    assert "secret" not in log + body.decode()
    assert b"\r\none\r\n" in b"\r\n" + get(port, "/breaks")[2]
    log = capfd.readouterr().err
    assert "ValueError in pieces" in log
    assert "secret" not in log


def test_other_names_for_our_loopback_are_not_served(port: int) -> None:
    def asked(host: str) -> bytes:
        return ask(port, f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).split(b" ")[1]

    for foreign in (
        "evil.example:9736",
        "localhost.evil.example",
        "localhost:x",
        "evil.example:localhost",
        "[evil.example]",
        ".",
    ):
        assert asked(foreign) == b"421"
    assert asked("127.0.0.1:9736") == asked("[::1]:9736") == asked("[::1]") == asked("LOCALHOST") == b"200"
    assert asked("localhost:") == asked("localhost.") == asked("localhost.:9736") == b"200"


@pytest.mark.parametrize("path", ["/huge", "/flood"])
def test_a_client_that_takes_nothing_is_left(path: str, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "SEND_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(1.0)
        received = 0
        with suppress(ConnectionResetError):
            while piece := client.recv(1 << 20):
                received += len(piece)
                assert received < HUGE


ENDLESS = """
import time
from ddtree_ops.exporter.app import serve
from ddtree_ops.exporter.web.door import opened
from ddtree_ops.exporter.web.routes import Route
with opened("127.0.0.1:0", None) as door:
    serve(door, [Route("/slow", lambda _: print(flush=True) or time.sleep(99))], ready=lambda at: print(at[1], flush=True))
"""


@pytest.mark.processes
def test_a_handler_that_waits_does_not_hold_up_the_end() -> None:
    argv = (sys.executable, "-c", ENDLESS)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        with socket.create_connection(("127.0.0.1", int(process.stdout.readline())), 5) as client:
            client.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert process.stdout.readline() == "\n"
            process.terminate()
            try:
                assert process.wait(20) == 0
            finally:
                process.kill()
            assert client.recv(10) == b""
            assert process.stderr.read() == ""


def test_streams_leave_places_to_scrapes_and_end_with_their_clients(port: int) -> None:
    clients = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(MOST_STREAMS)]
    for client in clients:
        client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(10)
    until(lambda: STREAM.open == MOST_STREAMS)
    assert get(port, "/events")[0] == 503
    assert get(port, "/")[0] == 200
    for client in clients:
        client.close()
    until(lambda: STREAM.open == 0)
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"


def test_ipv6_and_all_addresses() -> None:
    for where, host in (
        (Address("::1", 0), "::1"),
        (Address("", 0), "127.0.0.1"),
        (Address("::", 0), "127.0.0.1"),
        (Address("::", 0), "::1"),
        (Address("localhost", 0), "localhost"),
    ):
        for port in served(where, None):
            assert b"200" in ask(port, b"GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", host)
