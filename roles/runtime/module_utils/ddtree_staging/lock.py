"""One staging at a time on a host: flock(2) on a file, so that the kernel lets go when the last holder is gone.

uv's processes inherit the descriptor: while one of them outlives a killed run, its lock does, too, and nobody removes the
directory that it still writes to.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible.module_utils.ddtree_staging.problem import Problem

NAME = ".staging.lock"
WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.2


@contextmanager
def staging_lock(root: Path, wait: float = WAIT_SECONDS) -> Iterator[int]:
    """The descriptor of the lock, held until the end. Raises Problem if another run holds it for `wait` seconds."""
    descriptor = os.open(root / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _take(descriptor, wait)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int, wait: float) -> None:
    end = time.monotonic() + wait
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
                text = f"another run stages a release on this host (started by pid {holder}), for more than {wait:.0f} s"
                raise Problem(f"{text}; wait for it, or end that process and deploy again") from None
        time.sleep(_POLL_SECONDS)
