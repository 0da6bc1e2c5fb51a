"""The signals of a program that serves: SIGTERM and SIGINT end it, SIGHUP has it read its files again, as Prometheus' do."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGINT)
_TERMINAL = "/dev/tty"


class _Early:
    """What came before there was an event loop: it is only noted, as an exception may come out anywhere as another one."""

    ends = False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if number in _ENDING and self.ends:
            raise SystemExit(0)
        self.ends = self.ends or number in _ENDING  # a SIGHUP needs nothing read again while all is still being read


_EARLY = _Early()


def hold() -> None:
    """From the very start until until_the_end() takes over, in the main thread: what ends us does so then, and is no failure.

    A second one, for a start that takes too long, raises SystemExit.
    """
    for number in (*_ENDING, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _EARLY)


def until_the_end(reread: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """Catches signals from now on, in the event loop of the main thread.

    The function that it returns waits for the last one, and calls `reread` at each SIGHUP.
    """
    import asyncio  # noqa: PLC0415 - it takes a while, and hold() has none

    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # by nohup(1)
    in_terminal = not ignored and _has_terminal()
    told: asyncio.Queue[int] = asyncio.Queue()
    for number in (*_ENDING, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, told.put_nowait, number)

    if _EARLY.ends:
        told.put_nowait(signal.SIGTERM)

    async def wait() -> None:
        while await told.get() not in _ENDING:
            if in_terminal and not _has_terminal():
                break
            await reread()

    return wait


def _has_terminal() -> bool:
    """A process without a controlling terminal, or whose terminal hung up, can't open this one (tty(4))."""
    try:
        os.close(os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
