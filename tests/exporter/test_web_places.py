"""Who has a place at the exporter's port: neither silent clients nor servers that hang keep others out."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from ddtree_ops.exporter.web import server
from ddtree_ops.exporter.web.address import Address
from ddtree_ops.exporter.web.site import MOST_CONNECTIONS, MOST_STREAMS, MOST_WAITING
from tests.exporter.test_web import SLOW, STREAM, STUCK, ask, get, served
from tests.hang import until


@pytest.fixture
def port() -> Iterator[int]:
    yield from served(Address("127.0.0.1", 0), None)


def test_silent_clients_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than all places, from the same address as the one who asks."""
    monkeypatch.setattr(server, "HEAD_SECONDS", 600.0)
    for port in served(Address("127.0.0.1", 0), None):
        keep_silent(port)


def keep_silent(port: int) -> None:
    silent = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(MOST_CONNECTIONS + 8)]
    for number, client in enumerate(silent):
        with suppress(OSError):  # closed already, for one that came later
            client.sendall((b"", b"GET / HT", b"GET / HTTP/1.1\r\nX: ")[number % 3])
    for _ in range(4):
        assert get(port, "/")[0] == 200
    for client in silent[:8]:
        with suppress(ConnectionResetError):
            assert client.recv(10) == b""
    for client in silent:
        client.close()


def test_a_byte_now_and_then_keeps_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    for port in served(Address("127.0.0.1", 0), None):
        with socket.create_connection(("127.0.0.1", port), 5) as slow, suppress(OSError):
            began = time.monotonic()
            while time.monotonic() < began + 10:
                slow.sendall(b"X")
                time.sleep(0.05)
            raise AssertionError("it may go on for ever")


def asking(port: int, path: str, count: int) -> list[socket.socket]:
    clients = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(count)]
    for client in clients:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return clients


def answers(clients: list[socket.socket]) -> list[bytes]:
    found = []
    for client in clients:
        with client:
            found.append(b"".join(iter(lambda c=client: c.recv(4096), b"")))  # type: ignore[misc]
    return found


def test_without_a_place_the_connection_is_closed(port: int) -> None:
    """All of them are asking something, so that none can be closed for another."""
    others = MOST_CONNECTIONS - MOST_WAITING - MOST_STREAMS
    streams = asking(port, "/events", MOST_STREAMS)
    until(lambda: STREAM.open == MOST_STREAMS)
    clients = asking(port, "/slow", MOST_WAITING) + asking(port, "/stuck", others)
    until(lambda: STUCK.waiting == others)
    with suppress(ConnectionResetError):
        assert ask(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") == b""
    for stream in streams:
        stream.close()
    SLOW.go_on.set()
    STUCK.go_on.set()
    assert all(b"at last" in answer for answer in answers(clients))
    until(lambda: SLOW.waiting == STUCK.waiting == STREAM.open == 0)
    SLOW.go_on.clear()
    STUCK.go_on.clear()
    assert get(port, "/")[0] == 200


def test_a_server_that_hangs_keeps_nobody_from_what_never_waits(port: int) -> None:
    clients = asking(port, "/slow", MOST_CONNECTIONS)
    until(lambda: len(select.select(clients, (), (), 0)[0]) == MOST_CONNECTIONS - MOST_WAITING)
    streams = asking(port, "/events", MOST_STREAMS)
    assert get(port, "/")[0] == 200
    SLOW.go_on.set()
    answered = answers(clients)
    assert sum(b"at last" in answer for answer in answered) == MOST_WAITING
    assert sum(b" 503 " in answer for answer in answered) == MOST_CONNECTIONS - MOST_WAITING
    SLOW.go_on.clear()
    for client in streams:
        client.close()
