"""The ranks' process group: rank 0 broadcasts, all ranks meet at a barrier. Stands for gloo and NCCL over socket pairs."""

from __future__ import annotations

import select
import signal
import socket
from typing import Any

from sglang.simulation import wire

_ABANDONED = "abandoned"  # said by a rank that leaves with an exception
_LOST = "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Read error [127.0.0.1]:{port}: Connection reset by peer"


class ProcessGroup:
    """One rank's view. Rank 0 holds a connection to every other rank; the others hold one to rank 0.

    A peer that was killed is seen as a reset connection (RuntimeError in gloo's words). A peer that left with an
    exception leaves the others waiting for ever, as ranks in a GPU collective do.
    """

    def __init__(self, rank: int, size: int, connections: dict[int, socket.socket]) -> None:
        self.rank = rank
        self.size = size
        self._connections = connections

    def broadcast(self, message: Any) -> Any:
        """Rank 0's message, on every rank."""
        if self.rank == 0:
            for peer in self._connections:
                self._send(peer, message)
            return message
        return self._receive(0)

    def all_reduce(self) -> None:
        """Wait until every rank is here."""
        if self.rank == 0:
            for peer in self._connections:
                self._receive(peer)
            self.broadcast("reduced")
        else:
            self._send(0, "here")
            self._receive(0)

    def wait_readable(self, other: socket.socket, timeout: float | None) -> bool:
        """Rank 0 while idle: wait for `other`. Raises RuntimeError if a peer vanishes meanwhile."""
        sockets: list[socket.socket] = [other, *self._connections.values()]
        readable, _, _ = select.select(sockets, (), (), timeout)
        for peer, connection in self._connections.items():
            if connection in readable:
                self._receive(peer)
        return other in readable

    def abandon(self) -> None:
        """Tell the peers that this rank leaves with an exception of its own."""
        for connection in self._connections.values():
            try:
                wire.send(connection, _ABANDONED)
            except wire.PeerGone:
                continue

    def _send(self, peer: int, message: Any) -> None:
        try:
            wire.send(self._connections[peer], message)
        except wire.PeerGone:
            self._receive(peer)  # its last words decide what this rank does

    def _receive(self, peer: int) -> Any:
        try:
            message = wire.receive(self._connections[peer])
        except wire.PeerGone:
            raise RuntimeError(_LOST.format(port=20000 + peer)) from None
        if message == _ABANDONED:
            while True:
                signal.pause()
        return message


def connect(size: int) -> list[dict[int, socket.socket]]:
    """Connections of every rank, made before the ranks are forked."""
    ends: list[dict[int, socket.socket]] = [{} for _ in range(size)]
    for peer in range(1, size):
        ends[0][peer], ends[peer][0] = socket.socketpair()
    return ends


def keep_only(ends: list[dict[int, socket.socket]], rank: int | None) -> None:
    """Close the other ranks' ends in this process, so that a dead rank is noticed. None: close all."""
    for owner, connections in enumerate(ends):
        if owner != rank:
            for connection in connections.values():
                connection.close()
