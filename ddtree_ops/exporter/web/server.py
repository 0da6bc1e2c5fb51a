"""Tornado's HTTP server over our sockets: how many connections there are, and what becomes of those that say nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tornado.http1connection import HTTP1Connection, HTTP1ServerConnection
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.iostream import IOStream, SSLIOStream

from ddtree_ops.exporter.web.exchange import Exchange
from ddtree_ops.exporter.web.failures import quiet_logs, tell
from ddtree_ops.exporter.web.site import MOST_CONNECTIONS, Site
from ddtree_ops.exporter.web.threads import in_thread

HEAD_SECONDS = 3.0
"""For the TLS handshake and the whole head of the request together."""
REREAD_SECONDS = 1.0
"""For a web config or a certificate that changed: a hundred times what it takes."""
MOST_HEAD_BYTES = 16384
_MOST_READ_BYTES = 65536


class Server(HTTPServer):
    """One request for each connection. To be made and closed where the event loop runs.

    A client that says nothing must not keep out one that asks: when there are too many connections, the oldest whose request
    isn't whole yet is closed for the new one, and where there is none the new one is.
    """

    def initialize(self, site: Site, sockets: Sequence[socket.socket]) -> None:  # type: ignore[override]
        """`sockets` listen, and are closed with the server."""
        quiet_logs()
        super().initialize(
            self._ask,
            no_keep_alive=True,
            max_header_size=MOST_HEAD_BYTES,
            idle_connection_timeout=HEAD_SECONDS,
            max_body_size=0,
            body_timeout=HEAD_SECONDS,
        )
        self._site = site
        self._open = 0
        self._silent: dict[IOStream, None] = {}  # the oldest first
        self._exchanges: set[asyncio.Task[None]] = set()
        self._listening = [(one, asyncio.ensure_future(self._accept(one))) for one in sockets]

    async def close(self) -> None:
        """Accept no more, and end what is open."""
        for listening, accepting in self._listening:
            accepting.cancel()
            listening.close()
        await self.close_all_connections()

    async def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                channel, address = await asyncio.get_running_loop().sock_accept(listening)
            except OSError:
                await asyncio.sleep(0.1)  # out of descriptors: some will come back
                continue
            try:
                await self._follow()
                self._accepted(channel, address)
            except Exception as error:  # noqa: BLE001 - nothing may end this loop, or nobody is served any more
                if not isinstance(error, OSError):  # the client is gone already
                    tell(error)
                channel.close()

    async def _follow(self) -> None:
        """With the files as they are now, if they can be read at once: until they are, the former settings are in force."""
        if self._site.guard.follows:
            with suppress(TimeoutError):
                await asyncio.wait_for(in_thread(self._site.guard.refresh), REREAD_SECONDS)

    def _accepted(self, channel: socket.socket, address: tuple[Any, ...]) -> None:
        if self._open >= MOST_CONNECTIONS:
            silent = next(iter(self._silent), None)
            if silent is None:
                channel.close()
                return
            del self._silent[silent]
            silent.close()
        self.handle_stream(_stream(channel, self._site), address)

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Wait for a connection's request."""
        self._open += 1
        self._silent[stream] = None
        stream.set_nodelay(True)  # a small body would wait until its head is acknowledged
        super().handle_stream(stream, address)

    def on_close(self, server_conn: object) -> None:
        """A connection has ended."""
        assert isinstance(server_conn, HTTP1ServerConnection)  # noqa: S101 - Tornado has no others
        self._open -= 1
        self._silent.pop(server_conn.stream, None)
        super().on_close(server_conn)

    def _ask(self, request: HTTPServerRequest) -> None:
        connection = request.connection
        assert isinstance(connection, HTTP1Connection)  # noqa: S101
        self._silent.pop(connection.stream, None)
        exchange = asyncio.ensure_future(Exchange(self._site, request, connection).run())
        self._exchanges.add(exchange)  # the loop itself holds its tasks only weakly
        exchange.add_done_callback(self._exchanges.discard)


def _stream(channel: socket.socket, site: Site) -> IOStream:
    """Raises OSError."""
    context = site.guard.tls
    if context is None:
        return IOStream(channel, max_buffer_size=_MOST_READ_BYTES)
    secured = context.wrap_socket(channel, server_side=True, do_handshake_on_connect=False)
    return SSLIOStream(secured, max_buffer_size=_MOST_READ_BYTES)
