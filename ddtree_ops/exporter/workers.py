"""A few threads for many things to do, each at its time: how many threads there are doesn't depend on how many hosts are read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from ddtree_ops.exporter import log

Act = Callable[[], None]


class Workers:
    """`most` threads, begun as they are needed. One of them waits for the next thing that is due, the others for being told."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        lock = threading.Lock()
        self._sooner, self._spare = threading.Condition(lock), threading.Condition(lock)
        self._due: list[tuple[float, int, Act]] = []
        self._number = count()
        self._threads: list[threading.Thread] = []
        self._leading = self._closed = False
        self._spares = 0

    def after(self, seconds: float, act: Act) -> None:
        """Do it then, or as soon after that as a thread is free; those that are due longer come first. Nothing after close()."""
        with self._sooner:
            heappush(self._due, (time.monotonic() + seconds, next(self._number), act))
            self._wake()

    @property
    def alive(self) -> bool:
        """They have begun, and not ended: they never do by themselves."""
        return not self._closed and bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def close(self, seconds: float = 0.0) -> None:
        """Begin nothing more. What is being done is waited for so long, and then left alone."""
        with self._sooner:
            self._closed = True
            self._due.clear()
            self._sooner.notify_all()
            self._spare.notify_all()
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _wake(self) -> None:
        """Somebody has to look at what is due; with the lock held."""
        if self._closed:
            return
        if self._leading:
            self._sooner.notify()
        elif self._spares:
            self._spare.notify()
        elif len(self._threads) < self._most:
            thread = threading.Thread(target=self._run, name=f"{self._name}-{len(self._threads)}", daemon=True)
            thread.start()
            self._threads.append(thread)  # only now: `alive` asks each of them

    def _run(self) -> None:
        while (act := self._next()) is not None:
            try:
                act()
            except Exception as error:  # noqa: BLE001 - the thread must go on, or all would silently grow old
                log.line(f"{self._name}: {type(error).__name__}: {error}")

    def _next(self) -> Act | None:
        """The next thing that is due; None at the end."""
        with self._sooner:
            while not self._closed:
                if self._due and self._due[0][0] <= time.monotonic():
                    act = heappop(self._due)[2]
                    if self._due:
                        self._wake()
                    return act
                if self._leading:
                    self._spares += 1
                    self._spare.wait()
                    self._spares -= 1
                else:
                    self._leading = True
                    self._sooner.wait(self._due[0][0] - time.monotonic() if self._due else None)
                    self._leading = False
        return None
