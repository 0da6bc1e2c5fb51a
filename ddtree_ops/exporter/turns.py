"""Whose turn it is among the readings of one host: what waits for a connection, or for others of its host, holds no thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, runtime_checkable

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.workers import Workers

#: Of one host at a time: one that hangs keeps no more than these from the others.
READINGS_OF_A_HOST = 4


@runtime_checkable
class Way(Protocol):
    """A shell that has to connect: exporter/remote.py."""

    def decided(self) -> bool:
        """Whether it is connected, or known to be lost: nothing has to be waited for."""
        ...

    def connect(self) -> None:
        """Raises Unreachable."""
        ...


class Turns:
    """`way`: connected in a thread of `connects` before anything is read; None: there is nothing to connect."""

    def __init__(self, way: Way | None, workers: Workers, connects: Workers) -> None:
        self._way, self._workers, self._connects = way, workers, connects
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], None]] = deque()
        self._running = 0
        self._connecting = False

    def begin(self, again: Callable[[], None]) -> bool:
        """True: go on, and call end() then. False: not yet; `again` is called when it makes sense to ask once more."""
        with self._lock:
            if self._connecting or self._running >= READINGS_OF_A_HOST:
                self._waiting.append(again)
                return False
            if self._way is not None and not self._way.decided():
                self._waiting.append(again)
                self._connecting = True
                self._connects.after(0.0, self._connect)
                return False
            self._running += 1
            return True

    def end(self) -> None:
        """One has been read."""
        with self._lock:
            self._running -= 1
            self._resume(1)

    def _connect(self) -> None:
        try:
            with suppress(DdtreeOpsError, OSError):  # the readings meet the same, and tell it
                if self._way is not None:
                    self._way.connect()
        finally:
            with self._lock:
                self._connecting = False
                self._resume(len(self._waiting))

    def _resume(self, most: int) -> None:
        for _ in range(min(most, len(self._waiting))):
            self._workers.after(0.0, self._waiting.popleft())
