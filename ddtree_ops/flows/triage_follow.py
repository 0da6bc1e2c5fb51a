"""Triage of a server while it runs: the report comes the moment something fails."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator

from ddtree_ops.flows.journal_follow import JournalFollow
from ddtree_ops.flows.look import unit_state
from ddtree_ops.flows.wait import Server
from ddtree_ops.report.failure import FailureReport, from_diagnosis
from ddtree_ops.triage import journal
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.read import read_log
from ddtree_ops.triage.numbers import Facts

LOOK_SECONDS = 0.05
#: So long the same root has to stand before it is told: other ranks' tracebacks follow within milliseconds.
STEADY_SECONDS = 0.15


def follow(server: Server, unit: str, since: str | None = None, facts: Facts | None = None) -> Iterator[FailureReport]:
    """A report whenever another root failure shows than those told; ends only by an error or by the caller.

    It reads the latest run from its start (its arguments stand there) or everything `since` a time, then what comes: a
    failure that is there already is told at once. Raises Unreachable when the host is lost for longer than an outage may be.
    """
    news: queue.Queue[JournalEntry | Exception | None] = queue.Queue()
    follower = JournalFollow(server.shell, server.clock, unit, news.put)
    start = since or unit_state(server.shell, unit).started
    follower.start((*journal.follow(unit, None, kernel=bool(start)), *((f"--since={start}",) if start else ())))
    try:
        yield from _Watch(server.shell.host, unit, server.clock.monotonic, facts).reports(news)
    finally:
        follower.close()


def follow_bytes(chunks: Iterator[bytes], unit: str | None, facts: Facts | None = None) -> Iterator[FailureReport]:
    """The same for a log in any form that goes on arriving; ends with it, and tells what its end shows."""
    news: queue.Queue[JournalEntry | Exception | None] = queue.Queue()

    def read() -> None:
        try:
            for entry in read_log(chunks):
                if unit is None or entry.unit in (None, unit):
                    news.put(entry)
            news.put(None)
        except Exception as error:  # noqa: BLE001 - the waiting thread raises it; here it would vanish
            news.put(error)

    threading.Thread(target=read, daemon=True).start()
    yield from _Watch(None, unit, time.monotonic, facts).reports(news)


class _Watch:
    def __init__(self, host: str | None, unit: str | None, now: Callable[[], float], facts: Facts | None) -> None:
        self._host, self._unit, self._now = host, unit, now
        self._over = False
        self._diagnoser = Diagnoser(facts)
        self._told: set[tuple[str, str | None]] = set()
        self._candidate: tuple[str, str | None] | None = None
        self._since = 0.0

    def reports(self, news: queue.Queue[JournalEntry | Exception | None]) -> Iterator[FailureReport]:
        unseen = False
        while not self._over:
            unseen = self._take(news) or unseen
            if not (unseen and self._diagnoser.suspicious):
                continue
            report = from_diagnosis(self._diagnoser.so_far(), host=self._host, unit=self._unit)
            unseen = self._is_new(report)
            if unseen and (self._over or self._now() - self._since >= STEADY_SECONDS):
                assert self._candidate is not None  # noqa: S101 - _is_new has set it
                self._told.add(self._candidate)
                yield report

    def _take(self, news: queue.Queue[JournalEntry | Exception | None]) -> bool:
        """Everything that has come; waits a little for the first. Whether there was anything."""
        came = False
        try:
            item = news.get(timeout=LOOK_SECONDS)
            while True:
                if isinstance(item, Exception):
                    raise item
                came = True
                if item is None:
                    self._over = True
                    return True
                self._diagnoser.feed(item)
                item = news.get_nowait()
        except queue.Empty:
            return came

    def _is_new(self, report: FailureReport) -> bool:
        root = report.root
        name = (root.fingerprint, report.invocation) if root else None
        if name is None or name in self._told:
            self._candidate = None
            return False
        if name != self._candidate:
            self._candidate, self._since = name, self._now()
        return True
