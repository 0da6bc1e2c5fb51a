"""One connection, one request, one answer: everything that a client sends or takes has a limit in bytes and in time."""

from __future__ import annotations

import gzip
import io
import socket
import sys
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from ddtree_ops.adapters.bounded_http import Received
from ddtree_ops.exporter.web.checks import TooManyChecksError
from ddtree_ops.exporter.web.messages import BUSY, Request, Response, text
from ddtree_ops.exporter.web.places import Place, Places, Stage
from ddtree_ops.exporter.web.site import Site

HEAD_SECONDS = 3.0
"""For the TLS handshake and the whole head of the request together."""
SEND_SECONDS = 10.0
"""For a whole answer, and for each piece of a stream."""
MOST_HEAD_BYTES = 16384
MOST_TARGET_BYTES = 4096
_CHUNK = 65536
_MOST_FIELDS = 32
_LEAST_GZIPPED = 1024
_CHALLENGE = 'Basic realm="ddtree-ops", charset="UTF-8"'
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'",
}


class Connection(BaseHTTPRequestHandler):
    """handle() does it all; what goes wrong with the client ends the connection and nothing else."""

    protocol_version = "HTTP/1.1"
    server_version = "ddtree-ops"
    sys_version = ""

    def __init__(self, channel: socket.socket, place: Place, places: Places, site: Site, deadline: float) -> None:
        """`deadline`: the monotonic time by which the head must be whole."""
        self._site = site
        self._place = place
        self._places = places
        self._deadline = deadline
        self._received = 0
        self.command = ""
        self.requestline = ""
        super().__init__(channel, (place.client, 0), None)  # type: ignore[arg-type]

    def setup(self) -> None:
        self.connection = self.request
        self.rfile = io.BufferedReader(Received(self.receive))
        self.wfile = _Answer(self.connection)  # type: ignore[assignment]

    def finish(self) -> None:
        """Nothing is buffered, and the socket is its owner's."""

    def handle(self) -> None:
        self.close_connection = True
        with suppress(OSError, ValueError):  # the client is gone, too slow, or speaks something else
            try:
                self._exchange()
            except _TooLongError:
                self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _exchange(self) -> None:
        self.raw_requestline = self.rfile.readline(MOST_TARGET_BYTES + 1)
        if len(self.raw_requestline) > MOST_TARGET_BYTES:
            self.send_error(HTTPStatus.REQUEST_URI_TOO_LONG)
            return
        if not self.raw_requestline:
            if not self._goes_on(Stage.HEAD):
                self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        if not self.parse_request():
            return
        if self.request_version == "HTTP/0.9":
            return
        self._respond(self._answered())

    def _goes_on(self, stage: Stage) -> bool:
        """False once the place was given to another connection."""
        return self._places.goes_on(self._place, stage)

    def _answered(self) -> Response:
        if not self._goes_on(Stage.WORK):
            return BUSY
        if self.command not in ("GET", "HEAD"):
            return Response(405, body=b"GET and HEAD only\n", headers={"Allow": "GET, HEAD"})
        if self.headers.get("Transfer-Encoding") or self.headers.get("Content-Length", "0").strip() != "0":
            return text("a request here has no body", 413)
        try:
            if not self._site.guard.allows(self.headers.get("Authorization")):
                return Response(401, body=b"unauthorized\n", headers={"WWW-Authenticate": _CHALLENGE})
        except TooManyChecksError:
            return BUSY
        if not self._site.knows(self.headers.get("Host")):
            return text("this host name isn't served here", 421)
        return self._handled()

    def _handled(self) -> Response:
        try:
            target = urllib.parse.urlsplit(self.path)
            fields = urllib.parse.parse_qsl(target.query, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return text("no sound address", 400)
        path = urllib.parse.unquote(target.path, errors="replace")
        handler, params = self._site.routes.find(path)
        query = dict(reversed(fields))  # the first of each name
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path, query, params, headers, self.command)
        try:
            return handler(request)
        except Exception as error:  # noqa: BLE001 - a page that fails is no reason to end
            _log(error)
            return text("internal error; the exporter's journal says where", 500)

    def _respond(self, response: Response) -> None:
        if isinstance(response.body, bytes):
            if self._goes_on(Stage.SEND):
                self._send_whole(response, response.body)
            else:
                self._send_whole(BUSY, b"")
        else:
            self._send_stream(response, response.body)

    def _send_whole(self, response: Response, body: bytes) -> None:
        headers = dict(response.headers)
        if len(body) >= _LEAST_GZIPPED and "Content-Encoding" not in headers:
            headers["Vary"] = "Accept-Encoding"
            if _takes_gzip(self.headers.get("Accept-Encoding", "")):
                headers["Content-Encoding"], body = "gzip", gzip.compress(body, 1, mtime=0)
        headers["Content-Length"] = str(len(body))
        self._send_head(response, headers)
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_stream(self, response: Response, pieces: Iterator[bytes]) -> None:
        """To the end of the connection: no length is known."""
        try:
            with self._site.stream_place() as place:
                if not place:
                    self._send_whole(text("too many streams are open", 503), b"too many streams are open\n")
                    return
                if not self._goes_on(Stage.STREAM):
                    self._send_whole(BUSY, b"")
                    return
                self._send_head(response, dict(response.headers))
                if self.command != "HEAD":
                    for piece in _sound(pieces):
                        self.wfile.write(piece)
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()

    def _send_head(self, response: Response, headers: Mapping[str, str]) -> None:
        self.send_response(response.status)
        for name, value in {**_HEADERS, "Content-Type": response.content_type, **headers, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()

    def receive(self, most: int) -> bytes:
        """From the socket, within what is left of the time and bytes for a head."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if self._received >= MOST_HEAD_BYTES:
            raise _TooLongError
        self.connection.settimeout(left)
        data: bytes = self.connection.recv(min(most, MOST_HEAD_BYTES))
        self._received += len(data)
        return data

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """For heads that http.server can't read: without the client's words, which it would repeat."""
        self.command, self.request_version = self.command or "GET", "HTTP/1.1"
        self._respond(text(HTTPStatus(code).phrase.lower(), code))

    def log_message(self, *_args: Any) -> None:
        """What clients ask for is no news, and their words don't belong in a log."""


class _TooLongError(Exception):
    """The head of a request has more bytes than any sound one."""


class _Answer:
    """Writes at once; each write ends in time, also over TLS, whose sendall begins its time anew with each piece."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel

    def write(self, data: bytes) -> int:
        deadline = time.monotonic() + SEND_SECONDS
        rest = memoryview(data)
        while rest:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._channel.settimeout(left)
            rest = rest[self._channel.send(rest[:_CHUNK]) :]
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""


def _takes_gzip(accepted: str) -> bool:
    """RFC 9110, 12.5.3: gzip is named, and not with the weight 0."""
    for part in accepted.lower().split(","):
        coding, _, weight = part.strip().partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _sound(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of a stream until its handler fails, which ends it."""
    try:
        yield from pieces
    except Exception as error:  # noqa: BLE001 - as for a page
        _log(error)


def _log(error: Exception) -> None:
    """Type and place, without the text of the error: it may quote what a client sent."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" in {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}" if trace else ""
    print(f"a handler failed: {type(error).__name__}{place}", file=sys.stderr, flush=True)  # noqa: T201
