"""One HTTP exchange over a connection that is there already: bounded in time, and in bytes of the answer."""

from __future__ import annotations

import http.client
import io
import json
import time
from collections.abc import Callable
from typing import Any

from ddtree_ops.adapters.output import CHUNK
from ddtree_ops.ports import HttpRequest, HttpResponse

# What exchange() raises when the other side goes away. TimeoutError is an OSError: catch it first.
GONE = (http.client.HTTPException, OSError, EOFError)


class _TooLongError(Exception):
    """The answer has more bytes than any sound one."""


def exchange(channel: Any, request: HttpRequest, begun: float) -> HttpResponse:
    """The answer. `channel` has send, recv and settimeout, as sockets have; `begun` is when the request's time began.

    Raises TimeoutError, and those of GONE.
    """
    client = _ChannelConnection(_BoundedChannel(channel, begun + request.timeout, request.most_bytes))
    try:
        client.request(request.method, request.path, body=_body(request), headers=_headers(request))
        status, body, content_type = _answer(client)
    except TimeoutError as error:
        raise late(request) from error
    except _TooLongError:
        problem = f"{request.path}: the answer has more than {_size(request.most_bytes)}"
        return HttpResponse(0, b"", time.monotonic() - begun, problem)
    except (http.client.RemoteDisconnected, http.client.IncompleteRead):
        raise
    except http.client.HTTPException:
        return HttpResponse(0, b"", time.monotonic() - begun, f"{request.path}: the answer is no HTTP")
    return HttpResponse(status, body, time.monotonic() - begun, content_type=content_type)


def late(request: HttpRequest) -> TimeoutError:
    """What a request that isn't answered in time raises."""
    return TimeoutError(f"{request.path}: no whole answer within {request.timeout:g} s")


class _BoundedChannel:
    """What http.client asks of a socket, for one request: all of it ends by the deadline, the answer by `most_bytes`."""

    def __init__(self, channel: Any, deadline: float, most_bytes: int) -> None:
        self._channel = channel
        self._deadline = deadline
        self._most_bytes = most_bytes
        self._received = 0

    def close(self) -> None:
        """http.client does so before it reads the body; the channel stays open until its owner closes it."""

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._limit_wait()
            sent = self._channel.send(bytes(rest[:CHUNK]))
            if not sent:
                raise EOFError("the channel was closed")
            rest = rest[sent:]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(Received(self.recv), CHUNK)

    def recv(self, most: int) -> bytes:
        self._limit_wait()
        data: bytes = self._channel.recv(most)
        self._received += len(data)
        if self._received > self._most_bytes:
            raise _TooLongError
        return data

    def _limit_wait(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._channel.settimeout(left)


class Received(io.RawIOBase):
    """What comes from a `recv`, as a file."""

    def __init__(self, recv: Callable[[int], bytes]) -> None:
        self._recv = recv

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._recv(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _ChannelConnection(http.client.HTTPConnection):
    def __init__(self, channel: _BoundedChannel) -> None:
        super().__init__("127.0.0.1")
        self.sock: Any = channel

    def connect(self) -> None:
        """The channel is connected already."""


def _answer(client: http.client.HTTPConnection) -> tuple[int, bytes, str | None]:
    """Status, body and content type. Raises HTTPException for what is no HTTP, or ends too early."""
    try:
        answer = client.getresponse()
        # Piece by piece: memory for as many bytes as the server merely announces is never asked for.
        body = io.BytesIO()  # its value is no copy
        while piece := answer.read(CHUNK):
            body.write(piece)
    except (ValueError, OverflowError) as error:  # http.client's own, for odd lengths in the head or of a chunk
        raise http.client.HTTPException(f"no HTTP: {error}") from error
    if answer.length:  # read(n) says nothing of an early end
        raise http.client.IncompleteRead(body.getvalue(), answer.length)
    return answer.status, body.getvalue(), answer.headers.get("Content-Type")


def _size(most: int) -> str:
    return f"{most >> 20} MiB" if most >= 1 << 20 else f"{most >> 10} KiB"


def _headers(request: HttpRequest) -> dict[str, str]:
    headers = {"Accept": "application/json", "Connection": "close"}
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    if request.bearer:
        headers["Authorization"] = f"Bearer {request.bearer}"
    return headers


def _body(request: HttpRequest) -> bytes | None:
    return None if request.body is None else json.dumps(request.body).encode()
