"""Readers that leave: a pipe (`ddtree-ops deploy | head -1`), a terminal that is closed. What was done is done, and goes on."""

from __future__ import annotations

import errno
import os
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """What can't be written any more is dropped; Python's own flush at its end finds a stdout that takes it."""
    leave_closed_terminal()
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EIO):
            raise
        _to_nowhere(sys.stdout.fileno())


def leave_closed_terminal() -> None:
    """A terminal that hung up fails every call with EIO (tty_ioctl(4)): write to nowhere instead. Safe in a signal handler."""
    for number in range(3):
        try:
            termios.tcgetattr(number)
        except termios.error as error:
            if error.args[0] == errno.EIO:
                _to_nowhere(number)


def _to_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, number)
    os.close(nowhere)
