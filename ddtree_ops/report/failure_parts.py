"""Which parts of a failure tell most: the exception that ended it, its own frames, its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ddtree_ops.triage.block import Frame, ParsedException, Thread
from ddtree_ops.triage.model import Failure, Number


class Stack(NamedTuple):
    """Threads that stand at the same place."""

    threads: tuple[Thread, ...]
    frames: tuple[Frame, ...]

    @property
    def current(self) -> bool:
        """Whether one of them is the one that it happened in."""
        return any(item.current for item in self.threads)


def ending(failure: Failure) -> ParsedException | None:
    """The exception that ended the process: the last one outside groups; None if none was printed."""
    return next((item for item in reversed(failure.exceptions) if item.parent is None), None)


def own_frames(frames: Iterable[Frame]) -> list[Frame]:
    """The application's own frames; all of them if it has none."""
    every = list(frames)
    return [frame for frame in every if frame.in_app] or every


def depth(exceptions: tuple[ParsedException, ...], index: int) -> int:
    """How many groups hold an exception. Reports that were read back may say anything: never further than their number."""
    found, parent = 0, exceptions[index].parent
    while parent is not None and 0 <= parent < len(exceptions) and found < len(exceptions):
        found, parent = found + 1, exceptions[parent].parent
    return found


def stacks(threads: tuple[Thread, ...]) -> list[Stack]:
    """Threads by the place they stand at, the current one first, then the largest crowd last: it mostly waits."""
    found: dict[tuple[Frame, ...], list[Thread]] = {}
    for thread in threads:
        found.setdefault(thread.frames, []).append(thread)
    every = [Stack(tuple(members), frames) for frames, members in found.items()]
    return sorted(every, key=lambda item: (not item.current, len(item.threads)))


def by_value(numbers: tuple[Number, ...]) -> list[tuple[int, list[Number]]]:
    """The numbers under their value, in order of appearance."""
    found: dict[int, list[Number]] = {}
    for item in numbers:
        found.setdefault(item.value, []).append(item)
    return list(found.items())
