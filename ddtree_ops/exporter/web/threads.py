"""Calls that may block, in threads beside the event loop: so many at a time, and so many that wait for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


class TooManyError(Exception):
    """Ask again in a second."""


class Calls:
    """So many of one kind at a time, for one event loop."""

    def __init__(self, at_once: int, most: int) -> None:
        """`most`: those that are under way, and those that wait for them."""
        self._turn = asyncio.Semaphore(at_once)
        self._left = most

    async def run(self, call: Callable[[], _T]) -> _T:
        """What the call gives or raises. Raises TooManyError at once where too many wait already."""
        if not self._left:
            raise TooManyError
        self._left -= 1
        try:
            async with self._turn:
                return await in_thread(call)
        finally:
            self._left += 1


async def in_thread(call: Callable[[], _T]) -> _T:
    """What the call gives or raises.

    A daemon thread for each: the process waits for those of concurrent.futures before it ends, and a host may take a minute.
    """
    outcome: Future[_T] = Future()
    outcome.set_running_or_notify_cancel()  # it can't be cancelled any more: its thread would find no place for the result

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(outcome)
