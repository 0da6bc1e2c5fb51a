"""HTTP through a channel: a server that drips, floods or lies ends with an answer to the caller, in time and in bounds."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from ddtree_ops.adapters.http import TunnelledHttp
from ddtree_ops.adapters.ssh import SshShell
from ddtree_ops.ports import HttpRequest, HttpResponse

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class Channel:
    """A socket with what a paramiko Channel has besides."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._end, name)

    def get_transport(self) -> Channel:
        return self

    def is_active(self) -> bool:
        return True


class Tunnel:
    """A connection to a host whose server reads the request and answers with `pieces`, one each `pause` seconds."""

    host = "ct200"

    def __init__(self, pieces: Iterator[bytes], pause: float = 0.0) -> None:
        self._pieces = pieces
        self._pause = pause
        self._over = threading.Event()

    def channel(self, open_on: Callable[[Tunnel], Channel]) -> Channel:
        return open_on(self)

    def open_channel(self, *_where: object, timeout: float) -> Channel:
        assert timeout > 0
        near, far = socket.socketpair()
        threading.Thread(target=self._serve, args=(far,), daemon=True).start()
        return Channel(near)

    def _serve(self, end: socket.socket) -> None:
        with end:
            end.recv(1 << 16)
            try:
                for piece in self._pieces:
                    end.sendall(piece)
                    self._over.wait(self._pause)
            except OSError:
                return  # the other end has had enough


def ask(*pieces: bytes, timeout: float = 5.0) -> HttpResponse:
    return asked(Tunnel(iter(pieces)), timeout)


def asked(tunnel: Tunnel, timeout: float) -> HttpResponse:
    return TunnelledHttp(cast("SshShell", tunnel)).request(HttpRequest(30000, "/server_info", timeout=timeout))


def endless(head: bytes, piece: bytes) -> Iterator[bytes]:
    yield head
    while True:
        yield piece


@pytest.mark.parametrize(
    "answer",
    [OK + b"\r\n{}", OK + b"Content-Length: 2\r\n\r\n{}", CHUNKED + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"],
)
def test_whole_answers(answer: bytes) -> None:
    got = ask(answer)
    assert (got.status, got.body, got.problem) == (200, b"{}", None)


def test_a_long_answer_is_whole() -> None:
    assert ask(OK + b"\r\n", b"x" * 3_000_000).body == b"x" * 3_000_000


@pytest.mark.parametrize(
    ("head", "piece"), [(OK + b"\r\n", b"x"), (OK, b"X"), (b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (CHUNKED, b"1\r\nx\r\n")]
)
def test_an_answer_that_drips_ends_with_the_requests_time(head: bytes, piece: bytes) -> None:
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match=r"/server_info: no whole answer within 0\.3 s"):
        asked(Tunnel(endless(head, piece), 0.05), 0.3)
    assert time.monotonic() - begun < 60  # it drips for ever


@pytest.mark.parametrize("head", [OK + b"\r\n", OK + b"Content-Length: 99999999999999\r\n\r\n", CHUNKED + b"fffffffffff\r\n"])
def test_a_flood_is_told(head: bytes) -> None:
    got = asked(Tunnel(endless(head, b"x" * (1 << 20))), 30.0)
    assert (got.status, got.body) == (0, b"")
    assert "more than 16 MiB" in str(got.problem)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\0\xff" * 100,
        b"HTTP/1.1 99999 OK\r\n\r\n",
        OK + b"Content-Length: 99999999999999999999\r\n\r\nabc",
        OK + b"Content-Length: 10\r\n\r\nabc",
        CHUNKED + b"-5\r\nabc",
        CHUNKED + b"zz\r\nabc",
        CHUNKED + b"ffffffffffffffffffff\r\nabc",
        CHUNKED + b"5\r\nabc",
    ],
)
def test_what_is_no_http_is_as_a_broken_connection(answer: bytes) -> None:
    assert ask(answer).status == 0
