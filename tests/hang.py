"""A bound that tells work which never ends from work which ends: no measure of speed (those are in `benchmarks/`).

What grows with the square of a long input takes minutes, what hangs takes for ever; a slow or busy machine stays far below.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 10.0
"""Of processor time. What is guarded by it usually takes a tenth of a second."""
WAIT_SECONDS = 60.0


@contextmanager
def ends(within: float = SECONDS) -> Iterator[None]:
    """Raises AssertionError inside the block once it has used that much processor time (setitimer(2), ITIMER_PROF)."""

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"no end within {within:g} s of processor time")

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, within)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def until(met: Callable[[], object], what: str = "") -> None:
    """Wait for what another thread or process brings about. Raises AssertionError after a minute."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not met():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
