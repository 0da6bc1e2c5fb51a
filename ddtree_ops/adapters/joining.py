"""Calls that come from several threads at nearly the same moment become one: the first to come leads and serves the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

# Hosts that were let go together reach a playbook within moments: after this long without a new one, seconds, the first stop
# waiting; at the latest after the second figure. Nobody waits for a host that isn't at work, or in a call already.
QUIET_SECONDS = 1.0
LONGEST_SECONDS = 5.0


@dataclass
class _Batch(Generic[T]):
    items: dict[str, T]
    error: BaseException | None = None
    ended: threading.Event = field(default_factory=threading.Event)


class Joiner(Generic[K, T]):
    """Gathers items of different members under one key and has `work` do them together, in the first caller's thread.

    `work` leaves each item's own result in the item; what it raises is raised for all of them.
    """

    def __init__(self, work: Callable[[K, Sequence[T]], None]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._open: dict[K, _Batch[T]] = {}
        self._members: set[str] = set()
        self._calling: set[str] = set()

    def enter(self, member: str) -> None:
        """This member is at work now: others may wait for it."""
        with self._changed:
            self._members.add(member)

    def leave(self, member: str) -> None:
        """It isn't any more."""
        with self._changed:
            self._members.discard(member)
            self._changed.notify_all()

    def call(self, key: K, member: str, item: T) -> None:
        """Have `item` done with all others that come now. Raises what `work` raises."""
        with self._changed:
            batch = self._open.get(key)
            leads = batch is None or member in batch.items
            if batch is None or leads:
                batch = self._open[key] = _Batch({})
            batch.items[member] = item
            self._calling.add(member)
            self._changed.notify_all()
            if leads:
                self._gather(key, batch)
        if leads:
            self._do(key, batch)
        else:
            batch.ended.wait()
        with self._changed:
            self._calling.discard(member)
        if batch.error is not None:
            raise batch.error

    def _gather(self, key: K, batch: _Batch[T]) -> None:
        """Wait, with the lock held as a condition's wait does, for the members that may still come."""
        last = time.monotonic() + LONGEST_SECONDS
        while self._members - self._calling:
            left = min(QUIET_SECONDS, last - time.monotonic())
            if left <= 0 or not self._came(batch, len(batch.items), left):
                break
        if self._open.get(key) is batch:
            del self._open[key]

    def _came(self, batch: _Batch[T], known: int, seconds: float) -> bool:
        return self._changed.wait_for(lambda: len(batch.items) > known or not self._members - self._calling, seconds)

    def _do(self, key: K, batch: _Batch[T]) -> None:
        try:
            self._work(key, tuple(batch.items.values()))
        except BaseException as error:  # noqa: BLE001 - raised in every caller, by call()
            batch.error = error
        finally:
            batch.ended.set()
