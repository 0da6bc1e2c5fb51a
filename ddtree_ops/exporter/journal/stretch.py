"""A unit's journal judged stretch by stretch: each run of the server, and long ones in pieces where nothing is open.

When to judge is told by the log's own clock, never by when somebody reads: a second after the last line that may belong to
a failure. So whatever the passes in which a journal is read, the same judgements are made on the same lines.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

from ddtree_ops.exporter.journal.counts import Counted, as_counted
from ddtree_ops.exporter.journal.state import Place, State
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import UNREADABLE, JournalEntry
from ddtree_ops.triage.forms.sieve import Item
from ddtree_ops.triage.model import Diagnosis, Failure, Role

#: So long nothing more may come that belongs to a failure; and so long a row of failures may put off its judgement.
QUIET_US, LONGEST_US = 1_000_000, 10_000_000
#: A server that went on for so long after a failure: the log before can be left behind.
PEACE_US = 30_000_000
_MANY = 50  # suspicious things: more make every judgement dear
_LONG = 200_000  # lines: a stretch that never comes to peace is left behind, too

News = Callable[[Diagnosis, tuple[str, ...]], None]


@dataclass(slots=True)
class Pending:
    """Something may have failed and wasn't judged yet: from which entry of a boot to which."""

    first: JournalEntry
    last: JournalEntry

    def due(self, entry: JournalEntry) -> bool:
        """Whether the log's clock is past it."""
        if entry.boot_id != self.first.boot_id:
            return True
        return _clock(entry) >= min(_clock(self.last) + QUIET_US, _clock(self.first) + LONGEST_US)


class Stretches:
    """Feed it what comes through the gate; `state` is right after every call, so it may be written at any time.

    `pending` waits to be judged; `last` is the newest entry that was fed.
    """

    def __init__(self, state: State, news: News) -> None:
        self.state = state
        self._news = news
        self._diagnoser = Diagnoser()
        self._base: Diagnoser | None = None  # as it was when the run began to serve
        self._head = state.head or (state.start if state.invocation is not None else None)
        self.pending: Pending | None = None
        self._suspicion = 0
        self._suspicious: JournalEntry | None = None
        self.last: JournalEntry | None = None

    @property
    def attentive(self) -> bool:
        """As the diagnoser's (for the gate)."""
        return self._diagnoser.attentive

    @property
    def awaited_pids(self) -> tuple[int, ...]:
        """As the diagnoser's."""
        return self._diagnoser.awaited_pids

    @property
    def awaited_words(self) -> tuple[bytes, ...]:
        """As the diagnoser's."""
        return self._diagnoser.awaited_words

    def replay(self, item: Item) -> bool:
        """The beginning of a run that was counted before; whether more of it is needed."""
        if isinstance(item, JournalEntry):
            self._diagnoser.feed(item)
        else:
            self._diagnoser.skip(item.number, None)
        return not self._diagnoser.serving

    def replayed(self) -> None:
        """The beginning is over: what comes now belongs to the open stretch."""
        self._base = copy.deepcopy(self._diagnoser)
        self._suspicion = self._diagnoser.suspicion

    def lost(self) -> None:
        """The beginning of the open stretch is gone: what is left of it may look like another failure, and was counted."""
        self.state.counts.silent_us = max(self.state.counts.silent_us, self.state.newest_us)

    def feed(self, item: Item) -> None:
        """Take an entry, or a number of lines that can't matter."""
        if isinstance(item, JournalEntry):
            self._entry(item)
        else:
            self._diagnoser.skip(item.number, None)
            self.state.lines += item.number

    def judge(self) -> None:
        """Judge the open stretch now."""
        self.pending = None
        diagnosis = self._diagnoser.so_far()
        names = self.state.counts.take(self._decided(diagnosis), self.state.newest_us)
        if names:
            self._news(diagnosis, names)

    def rest(self) -> None:
        """Everything was read, and judged: leave the log behind where nothing is open."""
        last = self.last
        if last is None or last.cursor is None or self.pending is not None:
            return
        place, lines = Place(last.cursor, last.realtime_us or 0, inclusive=False), self.state.lines
        calm = self._suspicious is None or _apart(self._suspicious, last) >= PEACE_US
        if calm and self._diagnoser.at_peace:
            self._leave_behind(place, lines)
        elif lines - self.state.lines_before > _LONG:
            counted = self.state.counts.counted
            self._leave_behind(place, lines)
            self.state.counts.open_anew({**counted, **self.state.counts.counted})

    def _entry(self, entry: JournalEntry) -> None:
        if self.pending is not None and self.pending.due(entry):
            self.judge()
        before = self.state.lines
        self.state.lines += entry.transport != UNREADABLE
        self.state.newest_us = max(self.state.newest_us, entry.realtime_us or 0)
        if not self._is_of_the_run(entry, before):
            return
        if self.pending is None and self._suspicion >= _MANY and self._diagnoser.at_peace and entry.cursor:
            self._leave_behind(Place(entry.cursor, entry.realtime_us or 0, inclusive=True), before)
        self._diagnoser.feed(entry)
        self.last = entry
        self._watch(entry)
        if self._base is None and self._diagnoser.serving:
            self._base = copy.deepcopy(self._diagnoser)

    def _is_of_the_run(self, entry: JournalEntry, lines: int) -> bool:
        """Begin a new stretch where another invocation begins; what still comes of one that is over is left out."""
        invocation = entry.invocation_id
        if invocation is None or invocation == self.state.invocation:
            return True
        if invocation in self.state.ended:
            return False
        self._end_run()
        self.state.invocation, self.state.lines_before = invocation, lines
        self.state.start = self._head = _place(entry)
        return True

    def _end_run(self) -> None:
        if self.pending is not None or self._diagnoser.busy:
            self.judge()
        self.state.end_run()
        self._diagnoser, self._base, self._suspicion = Diagnoser(), None, 0
        self._suspicious = self.state.head = None
        self.state.counts.open_anew()

    def _watch(self, entry: JournalEntry) -> None:
        suspicion = self._diagnoser.suspicion
        if suspicion == self._suspicion and not self._diagnoser.busy:
            return
        self._suspicion, self._suspicious = suspicion, entry
        if self.pending is None or self.pending.first.boot_id != entry.boot_id:
            self.pending = Pending(entry, entry)
        self.pending.last = entry

    def _leave_behind(self, place: Place, lines: int) -> None:
        """The stretch is closed within its run; the next one knows how the run began, and that it serves."""
        state = self.state
        state.start, state.head, state.lines_before = place, self._head, lines
        self._diagnoser = copy.deepcopy(self._base) if self._base is not None else Diagnoser()
        self._suspicion, self._suspicious = self._diagnoser.suspicion, None
        state.counts.open_anew(self._of_base())

    def _of_base(self) -> dict[str, Counted]:
        return as_counted(self._base.so_far().failures) if self._base is not None else {}

    def _decided(self, diagnosis: Diagnosis) -> list[Failure]:
        """Without the word that something died, what looks fatal may still prove to be none."""
        fatal = (Role.ROOT, Role.CONSEQUENCE)
        return [item for item in diagnosis.failures if self._diagnoser.died or item.role not in fatal]


def _place(entry: JournalEntry) -> Place | None:
    return Place(entry.cursor, entry.realtime_us or 0, inclusive=True) if entry.cursor else None


def _clock(entry: JournalEntry) -> int:
    return entry.monotonic_us if entry.monotonic_us is not None else entry.realtime_us or 0


def _apart(one: JournalEntry, other: JournalEntry) -> int:
    return PEACE_US if one.boot_id != other.boot_id else _clock(other) - _clock(one)
