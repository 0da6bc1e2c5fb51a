"""The signals of a program that serves: SIGTERM and SIGINT end it, SIGHUP has it read its files again, as Prometheus' do."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable

_ENDING = (signal.SIGTERM, signal.SIGINT)
_TERMINAL = "/dev/tty"


def hold_hangups() -> None:
    """Until until_the_end() takes over: one that comes while all is still being read needs nothing read again."""
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda _number, _frame: None)


def until_the_end(reread: Callable[[], None]) -> Callable[[], None]:
    """Catches signals from now on; the function that it returns waits for the last one, and calls `reread` at each SIGHUP.

    By a descriptor and not by a lock: a thread that is just about to wait for a lock sleeps through a signal, since its handler
    only runs between two instructions of Python (docs of the module signal, "Execution of Python signal handlers").
    """
    told, teller = socket.socketpair()
    teller.setblocking(False)
    signal.set_wakeup_fd(teller.fileno(), warn_on_full_buffer=False)
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # by nohup(1)
    in_terminal = not ignored and _has_terminal()
    for number in (*_ENDING, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)

    def wait() -> None:
        with told, teller:
            while (number := told.recv(1)[0]) not in _ENDING:
                if number == signal.SIGHUP and in_terminal and not _has_terminal():
                    break
                if number == signal.SIGHUP:
                    reread()
            signal.set_wakeup_fd(-1)

    return wait


def _has_terminal() -> bool:
    """A process without a controlling terminal, or whose terminal hung up, can't open this one (tty(4))."""
    try:
        os.close(os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
