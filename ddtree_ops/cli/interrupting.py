"""Ctrl-C in stages: the first asks for an orderly end, the second for a quick one, the third ends at once.

SIGTERM and SIGHUP (the terminal was closed) are the same, but that only the first SIGHUP counts: a shell that ends sends it, too.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ddtree_ops.cli.closed_pipe import leave_closed_terminal

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STAGES = 2


def end_by_signal() -> None:
    """SIGTERM and SIGHUP as Ctrl-C, for the whole process: what is open is closed, temporary files are removed."""
    interrupts = Interrupts(lambda: None, stages=0)
    for number in _caught():
        if number != signal.SIGINT:
            signal.signal(number, interrupts)


def _caught() -> tuple[signal.Signals, ...]:
    """Whoever started us under nohup(1) wants no end with the terminal."""
    return tuple(number for number in NUMBERS if signal.getsignal(number) is not signal.SIG_IGN)


class Interrupts:
    """Counts them; `asking`: while a question waits for its answer, even the first one ends at once."""

    def __init__(self, orderly: Callable[[], None], stages: int = STAGES) -> None:
        self._orderly = orderly
        self._stages = stages
        self._count = 0
        self._asking = False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            leave_closed_terminal()
            if self._count:
                return
        self._count += 1
        if self._asking or self._count > self._stages:
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
def staged(orderly: Callable[[], None]) -> Iterator[Interrupts]:
    """The signals to this process call `orderly` twice, then raise KeyboardInterrupt in the main thread."""
    interrupts = Interrupts(orderly)
    numbers = _caught()
    before = [signal.signal(number, interrupts) for number in numbers]
    try:
        yield interrupts
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
