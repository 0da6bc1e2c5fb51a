"""Xids and OOM kills in the kernel's log: tells what the passes wrote, and sees to it that there are passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.catalogue import failures
from ddtree_ops.exporter.journal.follow import KERNEL_SIGNS, kernel_command
from ddtree_ops.exporter.journal.watch import Watch
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.passes import Passes
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.turns import Way

_MICRO = 1e6


class KernelCollector:
    """Of the host."""

    name = "kernel"
    period = 0.5  # of looking at the file; the log itself is read when there is a reason

    def __init__(self, target: Target, directory: Path, passes: Passes) -> None:
        self._shell = target.shell
        self._path = directory / state_file.KERNEL
        self._watch = Watch(target.shell, kernel_command(), KERNEL_SIGNS, partial(passes, None), "kernel's log")
        self._started = False

    @property
    def problem(self) -> str | None:
        """Why the last pass failed: what was counted before is told, and isn't new."""
        return self._watch.problem

    def read(self) -> Sequence[Sample]:
        """Raises Unreachable before the host was reached once, DdtreeOpsError where no pass has ended well for long.

        Raises ValueError for a file that isn't ours, OSError.
        """
        if not self._started:
            if isinstance(self._shell, Way):
                self._shell.connect()  # a host that is lost needs none of the threads that follow
            self._started = True
            self._watch.start()
        data = state_file.read(self._path)
        self._watch.check()
        return tuple(samples(data)) if data is not None else ()

    def close(self) -> None:
        """Follow no more."""
        self._watch.close()


def samples(data: Mapping[str, Any]) -> Iterator[Sample]:
    """The samples of a state."""
    for gpu, xid, count, last_us in data["xids"]:
        yield Sample(failures.XID, float(count), (str(gpu), str(xid)))
        yield Sample(failures.XID_LAST, last_us / _MICRO, (str(gpu), str(xid)))
    for victim, count in data["killed"].items():
        yield Sample(failures.OOM, float(count), (str(victim),))
