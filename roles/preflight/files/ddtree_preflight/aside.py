"""Work in a process of its own, left behind when it hangs: a file system that is gone lets nobody go, not even by SIGKILL."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

SECONDS = 4.0
MOST_BYTES = 4 << 20


class Aside:
    """A forked process that answers with one JSON value; start all of them before any thread."""

    def __init__(self, work: Callable[[], Any], seconds: float = SECONDS) -> None:
        self._deadline = time.monotonic() + seconds
        self._seconds = seconds
        sys.stdout.flush()
        self._out, into = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os._exit(_work(work, into))
        os.close(into)

    def answer(self) -> dict[str, Any]:
        """`{"value": ...}`, or `{"problem": text}`."""
        parts: list[bytes] = []
        while sum(map(len, parts)) < MOST_BYTES:
            ready, _, _ = select.select([self._out], [], [], max(0.0, self._deadline - time.monotonic()))
            if not ready:
                os.kill(self._pid, signal.SIGKILL)
                return {"problem": f"no answer in {self._seconds:.0f} s"}
            data = os.read(self._out, 1 << 16)
            if not data:
                break
            parts.append(data)
        os.close(self._out)
        os.waitpid(self._pid, 0)
        try:
            found = json.loads(b"".join(parts))
        except ValueError:
            return {"problem": "its answer is damaged"}
        return found if isinstance(found, dict) else {"problem": "its answer is damaged"}


def _work(work: Callable[[], Any], into: int) -> int:
    # Whoever reads this program's output must not wait for the end of a process that hangs.
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    try:
        found = {"value": work()}
    except BaseException as error:  # the process ends here; whatever it was is told
        found = {"problem": f"{type(error).__name__}: {error}"}
    with os.fdopen(into, "wb") as stream:
        stream.write(json.dumps(found).encode())
    return 0
