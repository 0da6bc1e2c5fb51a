"""Triage of a server while it runs: the report comes the moment something fails."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from ddtree_ops.flows.journal_follow import JournalFollow
from ddtree_ops.flows.look import unit_state
from ddtree_ops.flows.server import Server
from ddtree_ops.ports import Command
from ddtree_ops.report.failure import FailureReport, from_diagnosis
from ddtree_ops.triage import journal
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.read import read_log
from ddtree_ops.triage.model import Failure
from ddtree_ops.triage.numbers import Facts
from ddtree_ops.units.systemctl import Active

LOOK_SECONDS = 0.05
#: So long the same root has to stand before it is told: other ranks' tracebacks follow within milliseconds.
STEADY_SECONDS = 0.15


def follow(server: Server, unit: str, since: str | None = None, facts: Facts | None = None) -> FailureReport:
    """Wait for a root failure and report it; without one it ends only by an error or by the caller.

    A run that is on its way is read from its start (its arguments stand there): what has failed in it already is told at
    once. Of a unit that doesn't run only what comes counts. `since` takes everything from then on. Raises Unreachable when
    the host is lost for longer than an outage may be.
    """
    news: queue.Queue[JournalEntry | Exception | None] = queue.Queue()
    state = unit_state(server.shell, unit)
    runs = state.active in (Active.ACTIVE, Active.ACTIVATING) and not state.failed and bool(state.started)
    start = since or (state.started if runs else "")
    if start:
        argv = (*journal.follow(unit, None, kernel=True), f"--since={start}")
    else:
        newest = server.shell.run(Command(journal.last_cursor()))
        argv = journal.follow(unit, journal.parse_cursor(newest.stdout.encode()), kernel=True)
    put = news.put if since or not runs else _OfRun(state.invocation, news.put)
    follower = JournalFollow(server.shell, server.clock, unit, put)
    follower.start(argv)
    try:
        report = _Watch(server.shell.host, unit, server.clock.monotonic, facts).report(news)
        assert report is not None  # noqa: S101 - a journal that is followed has no end
        return report
    finally:
        follower.close()


class _OfRun:
    """Passes on what comes from the first entry of a run on: systemd tells its start in whole seconds only."""

    def __init__(self, invocation: str, put: Callable[[JournalEntry | Exception | None], None]) -> None:
        self._invocation, self._put, self._begun = invocation, put, False

    def __call__(self, item: JournalEntry | Exception | None) -> None:
        self._begun = self._begun or not isinstance(item, JournalEntry) or item.invocation_id == self._invocation
        if self._begun:
            self._put(item)


def follow_bytes(chunks: Iterator[bytes], unit: str | None, facts: Facts | None, now_us: int) -> FailureReport | None:
    """The same for a log in any form that goes on arriving; None if it ended without a root failure.

    `now_us`: microseconds since the epoch, for times without a year.
    """
    news: queue.Queue[JournalEntry | Exception | None] = queue.Queue()

    def read() -> None:
        try:
            for entry in read_log(chunks, now_us):
                if unit is None or entry.unit in (None, unit):
                    news.put(entry)
            news.put(None)
        except Exception as error:  # noqa: BLE001 - the waiting thread raises it; here it would vanish
            news.put(error)

    threading.Thread(target=read, daemon=True).start()
    return _Watch(None, unit, time.monotonic, facts).report(news)


class _Watch:
    def __init__(self, host: str | None, unit: str | None, now: Callable[[], float], facts: Facts | None) -> None:
        self._host, self._unit, self._now = host, unit, now
        self._diagnoser = Diagnoser(facts)
        self._suspicion = 0
        self._candidate: str | None = None
        self._since = 0.0
        self._over = False

    def report(self, news: queue.Queue[JournalEntry | Exception | None]) -> FailureReport | None:
        while not self._over:
            self._take(news)
            if not (self._is_there_more() or self._candidate):
                continue
            report = from_diagnosis(self._diagnoser.so_far(), host=self._host, unit=self._unit)
            if self._is_steady(report.root):
                return report
        return None

    def _take(self, news: queue.Queue[JournalEntry | Exception | None]) -> None:
        """Everything that has come; waits a little for the first."""
        with suppress(queue.Empty):
            item = news.get(timeout=LOOK_SECONDS)
            while item is not None:
                if isinstance(item, Exception):
                    raise item
                self._diagnoser.feed(item)
                item = news.get_nowait()
            self._over = True

    def _is_there_more(self) -> bool:
        """Whether something came that may be a failure: to judge costs a copy of all that is known."""
        before, self._suspicion = self._suspicion, self._diagnoser.suspicion
        return self._suspicion != before or self._diagnoser.busy

    def _is_steady(self, root: Failure | None) -> bool:
        """Whether the same root has stood long enough, or the log is over."""
        name = root.fingerprint if root else None
        if name != self._candidate:
            self._candidate, self._since = name, self._now()
        return name is not None and (self._over or self._now() - self._since >= STEADY_SECONDS)
