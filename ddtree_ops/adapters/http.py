"""HTTP to a loopback port of the host, through a forwarded channel of the SSH connection that we already have."""

from __future__ import annotations

import http.client
import io
import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ddtree_ops.errors import Unreachable
from ddtree_ops.ports import HttpRequest, HttpResponse

if TYPE_CHECKING:
    from ddtree_ops.adapters.ssh import SshShell

# RFC 4254, section 5.1: the open was refused because nothing listens there.
CONNECT_FAILED = 2
# Of a whole answer, its head included. The longest real one, /metrics of a busy server, is far below 1 MiB.
MOST_BYTES = 16 << 20
CHUNK = 1 << 16


class TunnelledHttp:
    """One request per channel: a dead server can't leave a stale connection behind."""

    def __init__(self, shell: SshShell) -> None:
        self._shell = shell

    def request(self, request: HttpRequest) -> HttpResponse:
        channel = self._channel(request)
        start = time.monotonic()  # connecting to the host has a limit of its own
        if channel is None:
            return HttpResponse(0, b"", 0.0)
        client = _ChannelConnection(_BoundedChannel(channel, start + request.timeout))
        try:
            client.request(request.method, request.path, body=_body(request), headers=_headers(request))
            status, body = _answer(client)
            return HttpResponse(status, body, time.monotonic() - start)
        except TimeoutError as error:
            raise TimeoutError(f"{request.path}: no whole answer within {request.timeout:g} s") from error
        except _TooLongError:
            problem = f"{request.path}: the answer has more than {MOST_BYTES >> 20} MiB"
            return HttpResponse(0, b"", time.monotonic() - start, problem)
        except (http.client.HTTPException, OSError, EOFError) as error:
            if not channel.get_transport().is_active():
                raise Unreachable(f"{self._shell.host}: the connection was lost: {error}") from error
            # The server went away in the middle of the answer: for the caller that is the same as nobody there.
            return HttpResponse(0, b"", time.monotonic() - start)
        finally:
            with suppress(OSError, EOFError):  # a lost connection; the real error is on its way
                channel.close()

    def _channel(self, request: HttpRequest) -> Any:
        import paramiko

        try:
            here = ("127.0.0.1", 0)
            there = ("127.0.0.1", request.port)
            return self._shell.channel(lambda one: one.open_channel("direct-tcpip", there, here, timeout=request.timeout))
        except paramiko.ChannelException as error:
            if error.code == CONNECT_FAILED:
                return None
            raise Unreachable(f"{self._shell.host}: sshd forbids forwarding: {error.text}") from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise Unreachable(f"{self._shell.host}: the connection was lost: {error}") from error


class _TooLongError(Exception):
    """The answer has more bytes than any sound one."""


class _BoundedChannel:
    """What http.client asks of a socket, for one request: all of it ends by the deadline, and the answer by MOST_BYTES."""

    def __init__(self, channel: Any, deadline: float) -> None:
        self._channel = channel
        self._deadline = deadline
        self._received = 0

    def close(self) -> None:
        """http.client does so before it reads the body; the channel stays open until request() is over."""

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._limit_wait()
            sent = self._channel.send(bytes(rest[:CHUNK]))
            if not sent:
                raise EOFError("the channel was closed")
            rest = rest[sent:]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Received(self.recv), CHUNK)

    def recv(self, most: int) -> bytes:
        self._limit_wait()
        data: bytes = self._channel.recv(most)
        self._received += len(data)
        if self._received > MOST_BYTES:
            raise _TooLongError
        return data

    def _limit_wait(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._channel.settimeout(left)


class _Received(io.RawIOBase):
    """What comes from a channel, as a file."""

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


def _answer(client: http.client.HTTPConnection) -> tuple[int, bytes]:
    """Status and body. Raises HTTPException for what is no HTTP, or ends too early."""
    try:
        answer = client.getresponse()
        # Piece by piece: memory for as many bytes as the server merely announces is never asked for.
        body = b"".join(iter(lambda: answer.read(CHUNK), b""))
    except (ValueError, OverflowError) as error:  # http.client's own, for odd lengths in the head or of a chunk
        raise http.client.HTTPException(f"no HTTP: {error}") from error
    if answer.length:  # read(n) says nothing of an early end
        raise http.client.IncompleteRead(body, answer.length)
    return answer.status, body


def _headers(request: HttpRequest) -> dict[str, str]:
    headers = {"Accept": "application/json", "Connection": "close"}
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    if request.bearer:
        headers["Authorization"] = f"Bearer {request.bearer}"
    return headers


def _body(request: HttpRequest) -> bytes | None:
    return None if request.body is None else json.dumps(request.body).encode()
