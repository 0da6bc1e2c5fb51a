"""The long-lived side of the journal collectors: followers, a schedule, and the passes when they are due."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.journal.follow import Follower, Sign
from ddtree_ops.exporter.journal.schedule import REGULAR_SECONDS, Schedule
from ddtree_ops.exporter.workers import Workers
from ddtree_ops.ports import Shell

#: So long without a pass that ended well: what it counted is too old to be told at all.
STALE_SECONDS = 3 * REGULAR_SECONDS
#: For all journals that this process watches: each pass is a child that reads, or triage here.
_PASSES = Workers(8, "pass")


@runtime_checkable
class Answering(Protocol):
    """A shell that may lose its host: exporter/remote.py."""

    def check_answers(self) -> None:
        """Raises Unreachable if the host has said nothing for long."""
        ...


class Watch:
    """One journal: follows it, and runs a pass whenever one is due. `problem`: why the last pass failed; None: it didn't."""

    def __init__(
        self, shell: Shell, argv: tuple[str, ...], signs: re.Pattern[bytes], run: Callable[[], object], name: str
    ) -> None:
        self._shell, self._run_pass, self._name = shell, run, name
        self._schedule = Schedule(time.monotonic())
        self._lock = threading.Lock()
        self._armed: float | None = None  # when _turn() will look whether a pass is due
        self._running = self._closed = False
        self._well_at = time.monotonic()
        self._follower = Follower(shell, argv, signs, self._on_sign, name)
        self.problem: str | None = None

    def start(self) -> None:
        """Begin; the first pass is due at once."""
        self._follower.start()
        with self._lock:
            self._arm()

    def close(self) -> None:
        """End the follower; a pass that runs comes to its own end."""
        with self._lock:
            self._closed = True
        self._follower.close()

    def check(self) -> None:
        """Raises DdtreeOpsError if passes have failed for long, Unreachable if the host has been silent for half a minute."""
        if isinstance(self._shell, Answering):
            self._shell.check_answers()
        if self.problem is not None and time.monotonic() - self._well_at > STALE_SECONDS:
            raise DdtreeOpsError(self.problem)

    def _on_sign(self, sign: Sign) -> None:
        with self._lock:
            self._schedule.sign(sign, time.monotonic())
            self._arm()

    def _arm(self) -> None:
        """See to it that _turn() looks in time; with the lock held."""
        due = self._schedule.due
        if not self._closed and not self._running and (self._armed is None or due < self._armed):
            self._armed = due
            _PASSES.after(due - time.monotonic(), partial(self._turn, due))

    def _turn(self, armed: float) -> None:
        with self._lock:
            if armed != self._armed or self._closed:
                return  # another one looks, sooner
            self._armed, now = None, time.monotonic()
            if now < self._schedule.due:
                self._arm()
                return
            self._running = True
            self._schedule.begin(now)
        try:
            self._read()
        finally:
            with self._lock:
                self._running = False
                self._arm()

    def _read(self) -> None:
        problem = None
        try:
            self._run_pass()
            self._well_at = time.monotonic()
        except Exception as raised:  # noqa: BLE001 - whatever it is, the next pass has to come
            expected = isinstance(raised, DdtreeOpsError | OSError)
            problem = f"{self._name}: {'' if expected else type(raised).__name__ + ': '}{str(raised)[:300]}"
        self.problem = problem
        if problem or not self._follower.start():
            self._on_sign(Sign.SOON)
