"""Ctrl-C in two stages: the first asks for an orderly end, the second ends at once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Counts them; `asking`: while a question waits for its answer, even the first one ends at once."""

    def __init__(self, orderly: Callable[[], None]) -> None:
        self._orderly = orderly
        self._count = 0
        self._asking = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._asking or self._count > 1:
            raise KeyboardInterrupt
        self._orderly()

    @contextmanager
    def asking(self) -> Iterator[None]:
        self._asking = True
        try:
            yield
        finally:
            self._asking = False


@contextmanager
def two_stage(orderly: Callable[[], None]) -> Iterator[Interrupts]:
    """SIGINT and SIGTERM of this process call `orderly` once, then raise KeyboardInterrupt in the main thread."""
    interrupts = Interrupts(orderly)
    before = [signal.signal(number, interrupts) for number in NUMBERS]
    try:
        yield interrupts
    finally:
        for number, handler in zip(NUMBERS, before, strict=True):
            signal.signal(number, handler)
