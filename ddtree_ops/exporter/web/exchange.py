"""One request and its answer: everything that a client sends or takes has a limit in bytes and in time."""

from __future__ import annotations

import asyncio
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from http.client import responses

from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPHeaders, HTTPServerRequest, ResponseStartLine, format_timestamp
from tornado.iostream import StreamClosedError

from ddtree_ops.exporter.web.compression import compressed
from ddtree_ops.exporter.web.failures import tell
from ddtree_ops.exporter.web.messages import BUSY, Request, Response, text
from ddtree_ops.exporter.web.routes import Handler, addressed
from ddtree_ops.exporter.web.site import Site
from ddtree_ops.exporter.web.threads import TooManyError

SEND_SECONDS = 10.0
"""For a whole answer, and for each piece of a stream."""
_MOST_FIELDS = 32
_TOO_MANY_STREAMS = b"too many streams are open\n"
_CHALLENGE = 'Basic realm="ddtree-ops", charset="UTF-8"'
_HEADERS = {
    "Server": "ddtree-ops",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'",
}


class Exchange:
    """run() does it all; what goes wrong with the client ends its connection and nothing else."""

    def __init__(self, site: Site, request: HTTPServerRequest, connection: HTTP1Connection) -> None:
        self._site = site
        self._request = request
        self._connection = connection

    async def run(self) -> None:
        """Answer, and wait until the client has taken it."""
        try:
            response = await self._answered()
            if isinstance(response.body, bytes):
                await self._send_whole(response, response.body)
            elif self._site.streams:
                await self._send_stream(response, response.body)
            else:
                await self._send_whole(Response(503, body=_TOO_MANY_STREAMS), _TOO_MANY_STREAMS)
            self._connection.finish()
        except Exception as error:  # noqa: BLE001 - as for a page
            if not isinstance(error, StreamClosedError | TimeoutError):  # the client is gone, or takes nothing
                tell(error)
            self._connection.close()

    async def _answered(self) -> Response:
        if self._request.method not in ("GET", "HEAD"):
            return Response(405, body=b"GET and HEAD only\n", headers={"Allow": "GET, HEAD"})
        try:
            if not await self._site.allows(self._request.headers.get("Authorization")):
                return Response(401, body=b"unauthorized\n", headers={"WWW-Authenticate": _CHALLENGE})
            host, path = addressed(self._request.path, self._request.host)
            if not self._site.knows(host):
                return text("this host name isn't served here", 421)
            return await self._handled(path)
        except TooManyError:
            return BUSY
        except Exception as error:  # noqa: BLE001 - a page that fails is no reason to end
            tell(error)
            return text("internal error; the exporter's journal says where", 500)

    async def _handled(self, target: str) -> Response:
        try:
            fields = urllib.parse.parse_qsl(self._request.query, max_num_fields=_MOST_FIELDS)
        except ValueError:
            return text("no sound address", 400)
        path = urllib.parse.unquote(target, errors="replace")
        route, params = self._site.routes.find(path)
        query = dict(reversed(fields))  # the first of each name
        headers = {name.lower(): value for name, value in self._request.headers.items()}
        request = Request(path, query, params, headers, self._request.method or "")
        turns = self._site.waiting if route.waits else self._site.calls
        return await turns.run(partial(_handled, route.handler, request))

    async def _send_whole(self, response: Response, body: bytes) -> None:
        headers = {"Content-Length": str(len(body)), **response.headers}
        await self._send_head(response, headers)
        if self._request.method != "HEAD":
            await _sent(self._connection.write(body))  # not with the head, which would copy megabytes

    async def _send_stream(self, response: Response, pieces: Iterator[bytes]) -> None:
        self._site.streams -= 1
        try:
            await self._send_head(response, response.headers)
            while self._request.method != "HEAD" and not self._connection.stream.closed():
                piece = await self._next(pieces)
                if piece is None:
                    break
                if piece:
                    await _sent(self._connection.write(piece))
                await asyncio.sleep(response.every)
        finally:
            self._site.streams += 1
            with suppress(AttributeError, ValueError):  # no generator; or one that runs, when all ends
                pieces.close()  # type: ignore[attr-defined]

    async def _next(self, pieces: Iterator[bytes]) -> bytes | None:
        """None at the end, which is also where its handler fails."""
        try:
            return await self._site.pieces.run(partial(next, pieces, None))
        except Exception as error:  # noqa: BLE001 - as for a page
            tell(error)
            return None

    async def _send_head(self, response: Response, headers: Mapping[str, str]) -> None:
        ours = {**_HEADERS, "Date": format_timestamp(time.time()), "Content-Type": response.content_type}
        line = ResponseStartLine("HTTP/1.1", response.status, responses.get(response.status, "Unknown"))
        await _sent(self._connection.write_headers(line, HTTPHeaders({**ours, **headers})))


async def _sent(written: asyncio.Future[None]) -> None:
    """Raises TimeoutError when the client doesn't take it."""
    await asyncio.wait_for(written, SEND_SECONDS)


def _handled(handler: Handler, request: Request) -> Response:
    return compressed(handler(request), request.headers.get("accept-encoding", ""))
