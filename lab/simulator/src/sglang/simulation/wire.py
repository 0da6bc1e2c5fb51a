"""Messages between the simulator's processes: a length and a marshalled value, over stream sockets."""

from __future__ import annotations

import marshal
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!I")


class PeerGone(Exception):
    """The other end was closed: its process ended."""


def send(connection: socket.socket, message: Any) -> None:
    """Send one message. Raises PeerGone."""
    data = marshal.dumps(message)
    try:
        connection.sendall(_LENGTH.pack(len(data)) + data)
    except OSError as error:
        raise PeerGone(str(error)) from error


def receive(connection: socket.socket) -> Any:
    """Wait for one message. Raises PeerGone."""
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    return marshal.loads(_exactly(connection, length))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        try:
            part = connection.recv(size - len(data))
        except OSError as error:
            raise PeerGone(str(error)) from error
        if not part:
            raise PeerGone("closed")
        data += part
    return data
