"""Answers 503 to connections for which there is no place, so that the client reads it.

Closing over bytes that were not read makes the kernel send a reset, which may overtake the answer (RFC 1122, 4.2.2.13). So what
the client has sent is read first, for a short time and by one thread for all.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import suppress

ANSWER = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n"
SECONDS = 0.5
MOST = 64
_CHUNK = 65536
_MOST_CHUNKS = 4  # of a client at a time


class Refusals:
    """Takes sockets over from the thread that accepts, and never makes that one wait."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._waiting: dict[socket.socket, float] = {}
        self._thread: threading.Thread | None = None

    def add(self, channel: socket.socket, *, plain: bool) -> None:
        """`plain`: the client speaks HTTP. Over TLS no answer can be given before the handshake: the connection just ends."""
        try:
            channel.setblocking(False)
            if plain:
                channel.send(ANSWER)
            channel.shutdown(socket.SHUT_WR)
        except OSError:
            channel.close()
            return
        with self._news:
            if len(self._waiting) >= MOST or not self._running():
                channel.close()
                return
            self._waiting[channel] = time.monotonic() + SECONDS
            self._news.notify()

    def _running(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="refusals", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no more threads
                return False
            self._thread = thread
        return True

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting)
                waiting = dict(self._waiting)
            ready = _readable(list(waiting))
            now = time.monotonic()
            done = [one for one, end in waiting.items() if now > end or (one in ready and _ended(one))]
            with self._news:
                for one in done:
                    del self._waiting[one]
            for one in done:
                one.close()


def _readable(channels: list[socket.socket]) -> set[socket.socket]:
    poll = select.poll()  # select(2) knows no descriptor beyond 1023
    by_number = {one.fileno(): one for one in channels}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return {by_number[number] for number, _ in poll.poll(50)}


def _ended(channel: socket.socket) -> bool:
    """Has the client closed its side? What it sent is dropped."""
    with suppress(BlockingIOError):
        for _ in range(_MOST_CHUNKS):
            try:
                if not channel.recv(_CHUNK):
                    return True
            except ConnectionError:
                return True
    return False
