"""How `status --watch` waits for its next look: it notices at once that nobody reads any more, and Ctrl-Z."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType

_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL


class Pause:
    """wait() takes so many seconds; it raises BrokenPipeError when stdout's reader has left.

    `stopping` runs before Ctrl-Z stops the process and `resumed` when it goes on, both in wait(): never in the middle of drawing.
    """

    def __init__(self, stopping: Callable[[], None], resumed: Callable[[], None]) -> None:
        self._stopping = stopping
        self._resumed = resumed
        self._told, self._tell = os.pipe()
        os.set_blocking(self._tell, False)
        self._poll = select.poll()
        self._poll.register(self._told, select.POLLIN)
        with contextlib.suppress(OSError, ValueError):  # a stdout that is no file
            self._poll.register(sys.stdout.fileno(), 0)

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            for file, event in self._poll.poll(left * 1000):
                if file == self._told:
                    if signal.SIGTSTP in os.read(self._told, 64):
                        self._stop()
                elif event & _GONE:
                    raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """Ctrl-Z is ours, but where it was ignored from the beginning."""
        before = signal.getsignal(signal.SIGTSTP)
        if before is not signal.SIG_DFL:
            yield
            return
        # The number is written by C, in whatever thread gets the signal: one just before poll(2) wakes it, too.
        wakes = signal.set_wakeup_fd(self._tell, warn_on_full_buffer=False)
        signal.signal(signal.SIGTSTP, _noted)
        try:
            yield
        finally:
            signal.signal(signal.SIGTSTP, before)
            signal.set_wakeup_fd(wakes)

    def close(self) -> None:
        os.close(self._told)
        os.close(self._tell)

    def _stop(self) -> None:
        self._stopping()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # returns after SIGCONT
        signal.signal(signal.SIGTSTP, _noted)
        self._resumed()


def _noted(_number: int, _frame: FrameType | None) -> None:
    """wait() reads its number."""


@contextlib.contextmanager
def pause(stopping: Callable[[], None] = lambda: None, resumed: Callable[[], None] = lambda: None) -> Iterator[Pause]:
    """One, closed in the end."""
    found = Pause(stopping, resumed)
    try:
        yield found
    finally:
        found.close()
