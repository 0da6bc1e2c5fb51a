"""The exporter's HTTP over real sockets: what clients may do, and what they can't hold up."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ddtree_ops.errors import DdtreeOpsError, UsageError
from ddtree_ops.exporter.web import address, connection, listener, places
from ddtree_ops.exporter.web.address import Address
from ddtree_ops.exporter.web.guard import Guard
from ddtree_ops.exporter.web.listener import Listener
from ddtree_ops.exporter.web.messages import Request, Response, text
from ddtree_ops.exporter.web.places import MOST_OF_A_CLIENT, Stage
from ddtree_ops.exporter.web.routes import Route, Routes
from ddtree_ops.exporter.web.site import Site, own_names

BIG = b"# a line of an exposition\n" * 200


class Stream:
    """Counts its streams that are open."""

    def __init__(self) -> None:
        self.open = 0

    def __call__(self, _request: Request) -> Response:
        return Response(body=self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        self.open += 1
        try:
            while True:
                yield b": still there\n\n"
                time.sleep(0.02)
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


ROUTES = (
    Route("/", lambda _request: text("home")),
    Route("/big", lambda _request: Response(body=BIG)),
    Route("/server/<port>/metrics", lambda request: text(f"{request.params['port']} {request.query.get('a')} {request.method}")),
    Route("/events", STREAM),
    Route("/fails", fails),
    Route("/breaks", breaks),
)


@pytest.fixture
def port() -> Iterator[int]:
    yield from served(Address("127.0.0.1", 0), None)


def served(where: Address, config: Path | None, names: frozenset[str] | None = None) -> Iterator[int]:
    own = Listener(address.listen(where), Site(Routes(*ROUTES), Guard(config), own_names() if names is None else names))
    thread = threading.Thread(target=own.serve, daemon=True)
    thread.start()
    yield own.address[1]
    own.close()
    thread.join(5)
    assert not thread.is_alive()


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
    assert get(port, "/?" + "&".join(f"a{number}=1" for number in range(99)))[0] == get(port, "http://[/")[0] == 400
    for path in ("/nothing", "/server//metrics", "/server/a%2Fb/metrics", "/server/30000/metrics/", "/server/30000/metricsx"):
        assert get(port, path)[0] == 404
    status, head, _ = get(port, "/", method="POST")
    assert (status, b"Allow: GET, HEAD" in head) == (405, True)
    assert get(port, "/", "Content-Length: 5\r\n")[0] == 413
    assert get(port, "/", "Transfer-Encoding: chunked\r\n")[0] == 413


def test_gzip_where_it_is_taken(port: int) -> None:
    assert gzip.decompress(get(port, "/big", "Accept-Encoding: br, gzip;q=0.5\r\n")[2]) == BIG
    assert get(port, "/big", "Accept-Encoding: gzip;q=0\r\n")[2] == BIG
    assert get(port, "/big")[2] == BIG


def test_what_is_no_request(port: int) -> None:
    assert get(port, "/" + "x" * 5000)[0] == 414
    assert get(port, "/", "X: " + "y" * 20000 + "\r\n")[0] == 431
    assert get(port, "/", "".join(f"X{number}: y\r\n" for number in range(200)))[0] == 431
    assert b"NONSENSE" not in ask(port, b"NONSENSE\r\n\r\n")
    assert b" 400 " in ask(port, b"NONSENSE\r\n\r\n")
    assert b" 505 " in ask(port, b"GET / HTTP/3.0\r\n\r\n").split(b"\n")[0]
    assert ask(port, b"GET /\r\n\r\n") == b""
    assert ask(port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n").count(b"200") == 0


def test_a_handler_that_fails_tells_nobody_what_it_was_asked(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, body = get(port, "/fails?a=secret")
    assert status == 500
    log = capfd.readouterr().err
    assert "ValueError in fails" in log
    assert "secret" not in log + body.decode()
    assert get(port, "/breaks")[2] == b"one"
    log = capfd.readouterr().err
    assert "ValueError in pieces" in log
    assert "secret" not in log


def test_other_names_for_our_loopback_are_not_served(port: int) -> None:
    def asked(host: str) -> bytes:
        return ask(port, f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).split(b" ")[1]

    assert asked("evil.example:9736") == asked("localhost.evil.example") == b"421"
    assert asked("127.0.0.1:9736") == asked("[::1]:9736") == asked("[::1]") == asked("LOCALHOST") == b"200"


def test_silent_clients_keep_nobody_out(port: int) -> None:
    """As many as all places, from the same address as the one who asks."""
    silent = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(MOST_OF_A_CLIENT + 8)]
    for number, client in enumerate(silent):
        client.sendall((b"", b"GET / HT", b"GET / HTTP/1.1\r\nX: ")[number % 3])
    for _ in range(4):
        assert get(port, "/")[0] == 200
    answers = [b"".join(iter(lambda c=client: c.recv(4096), b"")) for client in silent[:8]]  # type: ignore[misc]
    assert all(answer.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 1\r\n" in answer for answer in answers)
    for client in silent:
        client.close()


def test_a_byte_now_and_then_keeps_no_place(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "HEAD_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", port), 5) as slow:
        began = time.monotonic()
        with suppress(OSError):
            while time.monotonic() < began + 5:
                slow.sendall(b"X")
                time.sleep(0.05)
        assert time.monotonic() < began + 2


def test_without_a_place_the_answer_is_read_whatever_was_sent(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unread bytes would make a reset of it."""
    monkeypatch.setattr(places, "MOST_OF_A_CLIENT", 2)
    streams = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(2)]
    for stream in streams:
        stream.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert stream.recv(10)
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", port), 5) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 9000 + b"\r\n\r\n")
            time.sleep(0.005)
            answer = b"".join(iter(lambda c=client: c.recv(4096), b""))  # type: ignore[misc]
            assert answer.startswith(b"HTTP/1.1 503 ")
    for stream in streams:
        stream.close()


def test_who_takes_long_over_an_answer_gives_up_the_place_only_to_others() -> None:
    table, pairs = places.Places(), [socket.socketpair() for _ in range(places.MOST_OF_A_CLIENT + 1)]
    held = [table.enter("a", ours) for ours, _ in pairs[:-1]]
    for number, place in enumerate(held):
        assert place is not None
        assert table.goes_on(place, (Stage.STREAM, Stage.WORK, Stage.SEND)[number % 3])
    ours, theirs = pairs[-1]
    assert table.enter("a", ours) is None
    other = table.enter("b", ours)
    assert other is not None
    table.leave(other)
    for place in held:
        assert place is not None
        place.since -= places.SLOW_SECONDS + 1
    assert table.enter("a", ours) is not None
    lost = [number for number, place in enumerate(held) if place and place.stage is Stage.LOST]
    assert lost == [1]
    for ours, theirs in pairs:
        ours.close()
        theirs.close()


def test_a_client_that_takes_nothing_loses_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SEND_SECONDS", 0.2)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(TimeoutError):
        connection._Answer(ours).write(b"x" * (8 << 20))


def test_streams_leave_places_to_scrapes_and_end_with_their_clients(port: int) -> None:
    clients = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(16)]
    for client in clients:
        client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(10)
    deadline = time.monotonic() + 5
    while STREAM.open < 16 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert get(port, "/events")[0] == 503
    assert get(port, "/")[0] == 200
    for client in clients:
        client.close()
    while STREAM.open and time.monotonic() < deadline:
        time.sleep(0.01)
    assert STREAM.open == 0


def test_ipv6_and_all_addresses() -> None:
    for where, host in ((Address("::1", 0), "::1"), (Address("", 0), "127.0.0.1"), (Address("localhost", 0), "localhost")):
        for port in served(where, None):
            assert b"200" in ask(port, b"GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", host)


@pytest.mark.parametrize("wrong", ["", "9736", "localhost", "::1:9736", "127.0.0.1:", "a:99999", "a:-1", "a:²", "[::1]9736"])
def test_what_is_no_address(wrong: str) -> None:
    with pytest.raises(UsageError, match="no address"):
        address.parse(wrong)


def test_addresses() -> None:
    assert address.parse("[::1]:9736") == Address("::1", 9736)
    assert str(address.parse("[::1]:9736")) == "[::1]:9736"
    assert address.parse(":9736") == Address("", 9736)
    assert [Address(host, 1).loopback for host in ("127.3.2.1", "::1", "localhost", "", "::", "10.0.0.1")] == [True] * 3 + [
        False
    ] * 3


def test_a_port_that_is_taken_is_named_with_the_fix(port: int) -> None:
    with pytest.raises(DdtreeOpsError, match=f"can't listen on 127.0.0.1:{port}: Address already in use$") as raised:
        address.listen(Address("127.0.0.1", port))
    assert "--listen" in str(raised.value.hint)
    with pytest.raises(DdtreeOpsError, match="can't listen on"):
        address.listen(Address("a" * 70 + ".example", 0))
