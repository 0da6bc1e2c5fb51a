"""The signals of a program that serves: SIGTERM and SIGINT end it, SIGHUP has it read its files again, as Prometheus' do."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

_ENDING = (signal.SIGTERM, signal.SIGINT)
_TERMINAL = "/dev/tty"


def hold_hangups() -> None:
    """Until until_the_end() takes over: one that comes while all is still being read needs nothing read again."""
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda _number, _frame: None)


def until_the_end(reread: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """Catches signals from now on, in the event loop of the main thread.

    The function that it returns waits for the last one, and calls `reread` at each SIGHUP.
    """
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # by nohup(1)
    in_terminal = not ignored and _has_terminal()
    told: asyncio.Queue[int] = asyncio.Queue()
    for number in (*_ENDING, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, told.put_nowait, number)

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
