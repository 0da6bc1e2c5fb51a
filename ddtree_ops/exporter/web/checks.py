"""How many passwords may wait to be worked out: each takes a core and megabytes for a good part of a second."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST_CHECKS = 8
"""The one that is worked out, and those that wait for it."""


class TooManyChecksError(Exception):
    """Ask again in a second."""


class Checks:
    """One at a time, and few behind it, so that wrong passwords hold up neither those who were let in before nor the memory."""

    def __init__(self) -> None:
        self._places = threading.BoundedSemaphore(MOST_CHECKS)
        self._turn = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for its turn. Raises TooManyChecksError where too many do already."""
        if not self._places.acquire(blocking=False):
            raise TooManyChecksError
        try:
            with self._turn:
                yield
        finally:
            self._places.release()
