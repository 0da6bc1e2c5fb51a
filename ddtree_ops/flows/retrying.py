"""Doing something again and again over a connection that may be lost for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ddtree_ops.errors import Unreachable
from ddtree_ops.ports import Clock

#: A connection that is lost for longer ends it; a reboot of a host is back sooner.
LOST_AFTER_SECONDS = 90.0


class Outage:
    """How long a source has been without its host."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None

    def over(self) -> None:
        """The host answered."""
        self._since = None

    def too_long(self) -> bool:
        """Call it at each failure; the first one starts the time."""
        now = self._clock.monotonic()
        self._since = now if self._since is None else self._since
        return now - self._since > LOST_AFTER_SECONDS


def retrying(
    once: Callable[[], None], pause: float, outage: Outage, stop: threading.Event, put: Callable[[Exception], None]
) -> None:
    """Call `once` with pauses (seconds) until `stop`; what ends it for good is `put`: the waiting thread raises it."""
    while not stop.is_set():
        try:
            once()
            outage.over()
        except Unreachable as error:
            if outage.too_long():
                put(error)
                return
        except Exception as error:  # noqa: BLE001 - here it would vanish
            put(error)
            return
        stop.wait(pause)
