"""The same work for several items at a time, in threads that never hold up the end of the command."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_parallel(work: Callable[[A], B], items: Sequence[A], at_once: int) -> list[B]:
    """The results in the items' order; the first exception of any is raised, once all have ended.

    concurrent.futures waits at the interpreter's exit for what still runs, so that Ctrl-C would have to wait for a frozen host.
    """
    todo: SimpleQueue[int] = SimpleQueue()
    for index in range(len(items)):
        todo.put(index)
    results: dict[int, B] = {}
    errors: list[BaseException] = []

    def serve() -> None:
        while True:
            try:
                index = todo.get_nowait()
            except Empty:
                return
            try:
                results[index] = work(items[index])
            except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
                errors.append(error)

    threads = [threading.Thread(target=serve, daemon=True) for _ in range(min(at_once, len(items)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[index] for index in range(len(items))]
