"""The long-lived side of the journal collectors: followers, a schedule, and the passes as children of ours."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.journal.follow import Follower, Sign
from ddtree_ops.exporter.journal.schedule import REGULAR_SECONDS, Schedule
from ddtree_ops.ports import Shell

#: So long without a pass that ended well: what is told is too old to be called read.
STALE_SECONDS = 3 * REGULAR_SECONDS


@runtime_checkable
class Answering(Protocol):
    """A shell that may lose its host: exporter/remote.py."""

    def check_answers(self) -> None:
        """Raises Unreachable if the host has said nothing for long."""
        ...


class Watch:
    """One journal: follows it and runs a pass whenever one is due, in threads of its own."""

    def __init__(
        self, shell: Shell, argv: tuple[str, ...], signs: re.Pattern[bytes], run: Callable[[], object], name: str
    ) -> None:
        self._shell, self._run_pass, self._name = shell, run, name
        self._schedule = Schedule(time.monotonic())
        self._changed = threading.Condition()
        self._closed = False
        self._well_at = time.monotonic()
        self._error: str | None = None
        self._follower = Follower(shell, argv, signs, self._on_sign, name)
        self._thread = threading.Thread(target=self._run, name=f"pass-{name}", daemon=True)

    def start(self) -> None:
        """Begin; the first pass is due at once."""
        self._follower.start()
        self._thread.start()

    def close(self) -> None:
        """End the follower; a pass that runs comes to its own end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._follower.close()

    def check(self) -> None:
        """Raises DdtreeOpsError if passes have failed for long, Unreachable if the host has been silent for half a minute."""
        if isinstance(self._shell, Answering):
            self._shell.check_answers()
        if self._error is not None and time.monotonic() - self._well_at > STALE_SECONDS:
            raise DdtreeOpsError(f"{self._name}: {self._error}")

    def _on_sign(self, sign: Sign) -> None:
        with self._changed:
            self._schedule.sign(sign, time.monotonic())
            self._changed.notify_all()

    def _run(self) -> None:
        while self._wait():
            error = None
            try:
                self._run_pass()
                self._well_at = time.monotonic()
            except (DdtreeOpsError, OSError) as raised:
                error = str(raised)[:300]
                self._on_sign(Sign.SOON)
            if error and error != self._error:
                print(f"{self._name}: the pass failed: {error}", file=sys.stderr, flush=True)  # noqa: T201
            self._error = error

    def _wait(self) -> bool:
        """Until a pass is due; False at the end."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                if now >= self._schedule.due:
                    self._schedule.begin(now)
                    return True
                self._changed.wait(self._schedule.due - now)
        return False
