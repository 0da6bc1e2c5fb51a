"""Run a command and measure it: wall time, CPU time of it and its children, and the memory of its process tree."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.5
_MIB = 1024


@dataclass(frozen=True)
class Timed:
    """A command that ended. Seconds; `began` on the monotonic clock; `peak_mib`: proportional memory of the whole tree."""

    code: int
    began: float
    wall: float
    cpu: float
    peak_mib: float
    output: str
    errors: str


def timed(argv: Sequence[str], environment: Mapping[str, str] | None = None, limit: float = 900.0) -> Timed:
    """Run `argv` to its end. Raises TimeoutError after `limit` seconds; the command is killed then."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen(
            tuple(argv), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env={**os.environ, **(environment or {})}
        )
        watch = MemoryWatch(process.pid)
        late = threading.Timer(limit, process.kill)
        late.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        late.cancel()
        peak = watch.stop()
        if wall >= limit:
            raise TimeoutError(f"no end after {limit:.0f} s: {' '.join(argv)}")
        out.seek(0)
        err.seek(0)
        texts = (out.read().decode(errors="replace"), err.read().decode(errors="replace"))
    return Timed(process.returncode, began, wall, usage.ru_utime + usage.ru_stime, peak, *texts)


class MemoryWatch:
    """Looks now and then at the memory of a process and all its descendants."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """End it; the peak in MiB, 0 for what ended before the first look."""
        self._end.set()
        self._thread.join()
        return round(self._peak, 1)

    def _run(self) -> None:
        while not self._end.wait(SAMPLE_SECONDS):
            self._peak = max(self._peak, sum(map(_memory, tree(self._pid))))


def tree(pid: int) -> Iterator[int]:
    """A process and its descendants (proc(5), children)."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from tree(int(child))


def _memory(pid: int) -> float:
    """Pss in MiB: pages that several processes share count once in all."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / _MIB
