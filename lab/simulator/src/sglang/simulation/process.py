"""Titles, deaths and lives of the simulator's processes (prctl(2), proc(5))."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15


def set_title(title: str) -> None:
    """Show `title` as this process's name (15 characters of it in /proc/PID/comm) and command line.

    The command line is overwritten where the kernel keeps it, the way setproctitle does; that place is this process's
    own copy after a fork. Where it can't be found only the name changes.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NAME, title.encode()[:15], 0, 0, 0)
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # fields 48 and 49 of proc(5), arg_start and arg_end
    except (OSError, IndexError, ValueError):
        return
    if 0 < start < end:
        text = title.encode()[: end - start - 1]
        ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)


def fork(run: Callable[[], None]) -> int:
    """Run `run` in a child that dies with this process; gives the child's id. `run` never returns into our code."""
    parent = os.getpid()
    gc.freeze()  # keeps the pages of what is loaded so far shared: the child's collector won't touch them
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # it died between fork and prctl
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        run()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - a forked child must never return into its parent's code
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)
