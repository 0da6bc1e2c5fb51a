"""Something that is done now and then again every so many seconds, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter import log


class Repeating:
    """A problem is told once, with `trouble` (what comes of it), and ends nothing. `name` is the thread's."""

    def __init__(self, act: Callable[[], object], seconds: float, name: str, trouble: str) -> None:
        self._act, self._seconds, self._trouble = act, seconds, trouble
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """The first time here, raising what `act` raises: at the beginning there is nothing to fall back to."""
        self._act()
        self._thread.start()

    def close(self, seconds: float = 5.0) -> None:
        """Not again; the last time is waited for so long."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        before = ""
        while not self._closing.wait(self._seconds):
            problem = ""
            try:
                self._act()
            except Exception as error:  # noqa: BLE001 - the thread must go on, or all would silently grow old
                problem = str(error) if isinstance(error, DdtreeOpsError | OSError) else type(error).__name__
            if problem and problem != before:
                log.line(f"{self._trouble}: {problem}")
            before = problem
