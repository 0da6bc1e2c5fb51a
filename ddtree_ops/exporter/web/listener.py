"""Accepts connections, each in a thread of its own, and so many at a time: what is beyond gets 503 at once."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections import Counter
from contextlib import suppress

from ddtree_ops.exporter.web.connection import HEAD_SECONDS, Connection
from ddtree_ops.exporter.web.site import Site

MOST_CONNECTIONS = 48
MOST_OF_A_CLIENT = 32
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n"
_STACK_BYTES = 1 << 20
_LINGER_SECONDS = 0.2


class Listener:
    """serve() accepts until close(); connections that are open then end with the process."""

    def __init__(self, listening: socket.socket, site: Site) -> None:
        self._listening = listening
        self._site = site
        self._closing = False
        self._lock = threading.Lock()
        self._clients: Counter[str] = Counter()
        threading.stack_size(_STACK_BYTES)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self._listening.getsockname()[:2]
        return str(host), int(port)

    def serve(self) -> None:
        """Accept until close()."""
        while not self._closing:
            try:
                channel, where = self._listening.accept()
            except OSError:
                if not self._closing:
                    time.sleep(0.1)  # out of descriptors: some will come back
                continue
            client = str(where[0])
            if not self._enter(client):
                _refuse(channel)
                continue
            try:
                threading.Thread(target=self._serve_one, args=(channel, client), daemon=True).start()
            except RuntimeError:  # no more threads
                self._leave(client)
                _refuse(channel)

    def close(self) -> None:
        """Accept no more; may be called from any thread."""
        self._closing = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self._listening.close()

    def _enter(self, client: str) -> bool:
        with self._lock:
            if self._clients.total() >= MOST_CONNECTIONS or self._clients[client] >= MOST_OF_A_CLIENT:
                return False
            self._clients[client] += 1
            return True

    def _leave(self, client: str) -> None:
        with self._lock:
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]

    def _serve_one(self, channel: socket.socket, client: str) -> None:
        try:
            with channel, suppress(OSError):
                secured = self._secured(channel)
                Connection(secured, client, self._site)
                _linger(secured)
                secured.close()
        finally:
            self._leave(client)

    def _secured(self, channel: socket.socket) -> socket.socket:
        """With TLS if that is asked for. Raises OSError when the handshake fails, or takes too long."""
        channel.settimeout(HEAD_SECONDS)
        context = self._site.guard.tls()
        if context is None:
            return channel
        secured: ssl.SSLSocket = context.wrap_socket(channel, server_side=True, do_handshake_on_connect=False)
        secured.do_handshake()
        return secured


def _refuse(channel: socket.socket) -> None:
    with channel, suppress(OSError):
        channel.settimeout(0.0)
        channel.send(_BUSY)


def _linger(channel: socket.socket) -> None:
    """Take what the client still sends (a refused body): closing over it would reset the connection and lose the answer."""
    with suppress(OSError):
        channel.shutdown(socket.SHUT_WR)
        channel.settimeout(_LINGER_SECONDS)
        deadline = time.monotonic() + _LINGER_SECONDS
        while channel.recv(65536) and time.monotonic() < deadline:
            pass
