"""One pass over a unit's journal: read on from where the last pass was safe, judge, count, write it down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ddtree_ops import __version__
from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.journal import reports
from ddtree_ops.exporter.journal.counts import Counts
from ddtree_ops.exporter.journal.crashes import count_kept
from ddtree_ops.exporter.journal.news import News
from ddtree_ops.exporter.journal.source import read_on
from ddtree_ops.exporter.journal.state import Place, State, from_data
from ddtree_ops.exporter.journal.stretch import Stretches
from ddtree_ops.ports import Shell
from ddtree_ops.triage import journal
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.sieve import Item
from ddtree_ops.triage.gate import Gate

#: A second for the judgement (stretch.py), and what journald takes to write a line down.
SETTLE_SECONDS = 1.1
_SETTLE_ROUNDS, _LEAST_SETTLE = 12, 0.1
_SAVE_SECONDS = 5.0
_HEAD_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Pass:
    """What a pass is given. `settle`: seconds to wait for the rest of a failure that is just happening.

    `wall`: the host's clock, if it is ours, too: then less is waited after a failure of a moment ago.
    """

    shell: Shell
    unit: str
    directory: Path
    settle: float = SETTLE_SECONDS
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] | None = None

    def run(self) -> State:
        """Read on, and write the state. Raises OSError, Unreachable, HostCommandFailed; what was written before then stays."""
        path = state_file.of_unit(self.directory, self.unit)
        state = load(path, self.unit)
        floor, state.lines = state.lines, state.lines_before
        news = News(state, self.shell.host, reports.folder(self.directory, state_file.port_of(self.unit)))
        stretches = Stretches(state, news.take)
        self._replay(stretches, state)
        saved = self.monotonic()
        for _ in self._read(stretches, state.start):
            if self.monotonic() - saved >= _SAVE_SECONDS:
                self._save(path, state, news, floor)
                saved = self.monotonic()
        for _ in range(_SETTLE_ROUNDS):
            if stretches.pending is not None:
                self._settle(stretches, stretches.pending.last)
        if stretches.pending is not None:
            stretches.judge()
        stretches.rest()
        count_kept(self.shell, state, news)
        state.complete = True
        self._save(path, state, news, floor)
        return state

    def _replay(self, stretches: Stretches, state: State) -> None:
        """Where the open stretch begins within a run: how that run began."""
        if state.head is None or state.start is None:
            return
        argv, lines = journal.read(self.unit, kernel=True), 0
        for item in _from_place(self.shell, argv, state.head, stretches):
            lines += 1 if isinstance(item, JournalEntry) else item.number
            over = isinstance(item, JournalEntry) and (item.realtime_us or 0) >= state.start.realtime_us
            if over or lines > _HEAD_LINES or not stretches.replay(item):
                break
        stretches.replayed()

    def _read(self, stretches: Stretches, place: Place | None) -> Iterator[None]:
        argv = journal.read(self.unit, kernel=True)
        for item in _from_place(self.shell, argv, place, stretches, stretches.lost):
            stretches.feed(item)
            yield

    def _settle(self, stretches: Stretches, suspicious: JournalEntry) -> None:
        """After a second without anything more of it, a failure may be judged."""
        age = self.wall() - (suspicious.realtime_us or 0) / 1e6 if self.wall is not None else 0.0
        self.sleep(self.settle - age if 0 <= age < self.settle - _LEAST_SETTLE else self.settle)
        last = stretches.last
        assert last is not None and last.cursor is not None  # noqa: S101 - something is pending, so something was read
        for _ in self._read(stretches, Place(last.cursor, last.realtime_us or 0, inclusive=False)):
            pass
        if stretches.pending is not None and stretches.pending.last is suspicious:
            stretches.judge()

    def _save(self, path: Path, state: State, news: News, floor: int) -> None:
        news.write()
        data = state.to_data()
        data["lines"] = max(floor, state.lines)
        state_file.write(path, data)


def _from_place(
    shell: Shell, argv: tuple[str, ...], place: Place | None, stretches: Stretches, lost: Callable[[], None] = lambda: None
) -> Iterator[Item]:
    gate = Gate(stretches)
    for item in read_on(shell, argv, place, lambda: gate, lost):
        gate.heard(item)
        yield item


def load(path: Path, unit: str) -> State:
    """What the last pass wrote. A file that can't be used is set aside; what it may have counted isn't counted again."""
    state = state_file.load(path, lambda data: from_data(data, unit), lambda lost: _fresh(unit, lost))
    if state.program != __version__:  # it may name the same failure otherwise
        state.program, state.counts.silent_us = __version__, state.newest_us
    return state


def _fresh(unit: str, lost: float | None) -> State:
    return State(unit, __version__, counts=Counts(silent_us=int((lost or 0) * 1e6)))
