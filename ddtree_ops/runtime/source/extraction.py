"""Facts of many files at once, in worker processes where that pays."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

from ddtree_ops.runtime.extract import FileFacts, extract

#: Below so many bytes a process of its own costs more than it brings.
_ALONE = 1_500_000
_BATCH = 600_000
Progress = Callable[[int, int], None]


class Content(NamedTuple):
    """A file to be read: its name in the tree, and what stands in it."""

    name: str
    content: bytes


class Extracted(NamedTuple):
    """A file's facts as bytes, and the names that occur in it."""

    name: str
    facts: bytes
    names: tuple[str, ...]


Batch = list[Content]


def extract_all(
    contents: Sequence[Content], workers: int | None = None, on_progress: Progress | None = None
) -> Iterator[Extracted]:
    """The facts of each file, in no order. `on_progress` is told (files done, all files), at the beginning too.

    `workers`: processes, by default one a core. Where processes can't be started, or die, the rest is done in this one.
    """
    total, done = sum(len(one.content) for one in contents), 0
    batches = list(_batches(contents))
    count = min(workers or _cores(), len(batches))
    if on_progress is not None and contents:
        on_progress(0, len(contents))
    ways = _alone(batches) if count <= 1 or total < _ALONE else _together(batches, count)
    with contextlib.closing(ways):
        for found in ways:
            done += len(found)
            if on_progress is not None:
                on_progress(done, len(contents))
            yield from found


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _batches(contents: Sequence[Content]) -> Iterator[Batch]:
    """The largest files first, so that no worker is left alone with one at the end."""
    batch: Batch = []
    size = 0
    for one in sorted(contents, key=lambda one: -len(one.content)):
        batch.append(one)
        size += len(one.content)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _alone(batches: Iterable[Batch]) -> Generator[list[Extracted]]:
    for batch in batches:
        yield _batch(batch)


def _together(batches: list[Batch], workers: int) -> Generator[list[Extracted]]:
    """`spawn`: a fork of a process with threads (an SSH connection has some) can stand still for ever."""
    left = dict(enumerate(batches))
    try:
        pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    except (OSError, ImportError):  # no /dev/shm for its locks, no more processes
        yield from _alone(batches)
        return
    try:
        with _interrupts_held():
            futures: dict[Future[list[Extracted]], int] = {pool.submit(_batch, batch): n for n, batch in left.items()}
        for ended in as_completed(futures):
            found = ended.result()
            del left[futures[ended]]
            yield found
    except (BrokenProcessPool, OSError):
        yield from _alone(left.values())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes that are started here begin without SIGINT (sigprocmask(2): the mask is kept over execve)."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Ctrl-C is the parent's to handle, and a parent that was killed leaves nobody behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _batch(batch: Batch) -> list[Extracted]:
    return [_one(one) for one in batch]


def _one(one: Content) -> Extracted:
    found: FileFacts = extract(one.name, one.content)
    return Extracted(one.name, found.dump(), tuple(found.names))
