"""The true moments of a run, for benchmarks: a file beside the log, so that being measured changes nothing of the log."""

from __future__ import annotations

import os
import time


def note(path: str, name: str) -> None:
    """Append `<monotonic seconds> <name> <pid>` to `path` in one write; an empty path: nothing is noted.

    The clock is CLOCK_MONOTONIC, which containers share with their host. A file that can't be written ends no server:
    whoever measures misses the moment and says so.
    """
    if not path:
        return
    line = f"{time.monotonic():.6f} {name} {os.getpid()}\n".encode()
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    except OSError:
        return
    os.write(file, line)
    os.close(file)
