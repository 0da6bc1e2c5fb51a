"""Accepts connections, each in a thread of its own, and so many at a time: what is beyond gets 503 at once."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import suppress

from ddtree_ops.exporter.web.connection import HEAD_SECONDS, Connection
from ddtree_ops.exporter.web.places import Place, Places
from ddtree_ops.exporter.web.refusal import Refusals
from ddtree_ops.exporter.web.site import Site

_STACK_BYTES = 1 << 20
_LINGER_SECONDS = 0.2


class Listener:
    """serve() accepts until close(); connections that are open then end with the process."""

    def __init__(self, listening: socket.socket, site: Site) -> None:
        self._listening = listening
        self._site = site
        self._closing = False
        self._places = Places()
        self._refusals = Refusals()
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
            place = self._places.enter(str(where[0]), channel)
            if place is None:
                self._refuse(channel)
                continue
            try:
                threading.Thread(target=self._serve_one, args=(channel, place), daemon=True).start()
            except RuntimeError:  # no more threads
                self._places.leave(place)
                self._refuse(channel)

    def close(self) -> None:
        """Accept no more; may be called from any thread."""
        self._closing = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self._listening.close()

    def _refuse(self, channel: socket.socket) -> None:
        self._refusals.add(channel, plain=self._site.guard.config.tls is None)

    def _serve_one(self, channel: socket.socket, place: Place) -> None:
        secured = channel
        try:
            with suppress(OSError):
                deadline = time.monotonic() + HEAD_SECONDS
                secured = self._secured(channel)
                # Wrapping for TLS moves the descriptor to another object, which is the one to be told that its place is lost.
                place.channel = secured
                _shake_hands(secured)
                Connection(secured, place, self._places, self._site, deadline)
                _linger(secured)
        finally:
            self._places.leave(place)
            with suppress(OSError):
                secured.close()

    def _secured(self, channel: socket.socket) -> socket.socket:
        """For TLS if that is asked for; the handshake has still to be made. Raises OSError."""
        channel.settimeout(HEAD_SECONDS)
        context = self._site.guard.tls()
        return channel if context is None else context.wrap_socket(channel, server_side=True, do_handshake_on_connect=False)


def _shake_hands(channel: socket.socket) -> None:
    """Raises OSError when the handshake fails, or takes too long."""
    if isinstance(channel, ssl.SSLSocket):
        channel.do_handshake()


def _linger(channel: socket.socket) -> None:
    """Take what the client still sends (a refused body): closing over it would reset the connection and lose the answer."""
    with suppress(OSError):
        channel.shutdown(socket.SHUT_WR)
        channel.settimeout(_LINGER_SECONDS)
        deadline = time.monotonic() + _LINGER_SECONDS
        while channel.recv(65536) and time.monotonic() < deadline:
            pass
