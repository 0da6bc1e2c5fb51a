"""From raw messages to lines: control sequences removed, progress bars resolved, joined again.

tqdm redraws a bar with `\\r` and writes no newline, so the next log record follows on the same line: a traceback header
can stand behind a bar. Here what follows a bar becomes a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ddtree_ops.triage.block import Block, Evidence, Origin
from ddtree_ops.triage.characters import CONTROLS, ESCAPES, clean
from ddtree_ops.triage.entry import MESSAGE_LIMIT, JournalEntry, LineBreak
from ddtree_ops.triage.own_times import OwnTimes
from ddtree_ops.triage.prefixes import Prefix, is_record, read_prefix
from ddtree_ops.triage.structured import read_structured

__all__ = [
    "Line",
    "LineAssembler",
    "Prefix",
    "clean",
    "evidence",
    "is_older",
    "line_block",
    "read_prefix",
    "shortened",
    "split_message",
]

# tqdm's bar: `desc:  25%|##  | 1/4 [00:56<02:49, 56.47s/it]`, SGLang's `0% Completed | 0/1 [...]`, or `12it [00:01, 9it/s]`.
_BAR_TIMES = re.compile(r" \[\d[^\]\r\n]{0,100}\]| \[\]")
_BAR_COUNT = re.compile(r"\d\S{0,20}/\S{1,20}")
_BAR_ITEMS = re.compile(r"\d\S{0,20}(?:it|B)")
_BAR_SHARE = re.compile(r"\d%[^|\r\n]{0,40}\|")

_EVIDENCE_LIMIT = 2000
_LONG = 4000  # characters
_HELD_LIMIT, _HELD_PARTS = 1 << 22, 256  # characters of all parts that wait for their rest, and how many may wait
_SECOND = 1_000_000


class Line(NamedTuple):
    """One line of text with the entry it came from. `progress`: a bar in its last state."""

    text: str
    entry: JournalEntry
    number: int
    progress: bool = False


def split_message(message: str) -> list[tuple[str, bool]]:
    """The lines within one message as (text, is a progress bar); the bars between two texts count as one, in its last state.

    A message that begins as a dated log record is never cut at `\\r`: it may quote anything, a user's prompt too.
    """
    if message.isprintable():  # quickest, and true of nearly every line
        return [(message, False)]
    if is_record(message):
        return [(clean(part), False) for part in message.split("\n")]
    found: list[tuple[str, bool]] = []
    for raw_line in message.split("\n"):
        segments = _segments(ESCAPES.sub("", raw_line)) if raw_line else [("", False)]
        found.extend(segments)
    return found


def _segments(line: str) -> list[tuple[str, bool]]:
    result: list[tuple[str, bool]] = []
    for segment in line.split("\r"):
        text = CONTROLS.sub("", segment)
        end = _bar_end(text)
        if end:
            if result and result[-1][1]:
                result.pop()
            result.append((text[:end].rstrip(), True))
            text = text[end:]
        if text.strip():
            result.append((text, False))
    return result or [("", False)]


def _bar_end(text: str) -> int:
    """Where a bar at the text's beginning ends; 0 if there is none."""
    times = _BAR_TIMES.search(text)
    share = _BAR_SHARE.search(text) if times else None
    for found in _BAR_TIMES.finditer(text, times.start()) if times else ():
        word = text[max(0, found.start() - 50) : found.start()].rpartition(" ")[2].rpartition("|")[2]
        if _BAR_ITEMS.fullmatch(word) or (share and share.end() <= found.start() and _BAR_COUNT.fullmatch(word)):
            return found.end()
    return 0


def shortened(line: Line) -> Line:
    """The line as it can be kept for long: of a long one the beginning, and not the message that it came in."""
    if len(line.entry.message) <= _LONG:
        return line
    return line._replace(text=line.text[:_LONG], entry=line.entry._replace(message=""))


def evidence(line: Line) -> Evidence:
    """A line as evidence; cut, for a line can be very long."""
    return Evidence(line.entry.cursor, line.number, line.entry.realtime_us, line.text.strip()[:_EVIDENCE_LIMIT])


def is_older(last_us: int | None, now_us: int | None, age_us: int) -> bool:
    """Whether more than `age_us` have passed since; of times in whole seconds a second more may be missing."""
    if last_us is None or now_us is None:
        return False
    coarse = _SECOND if last_us % _SECOND == 0 and now_us % _SECOND == 0 else 0
    return now_us - last_us > age_us + coarse


def line_block(line: Line, rest: str) -> Block:
    """A block of this one line; `rest` is its text without prefix."""
    entry, at = line.entry, line.entry.realtime_us
    told = (evidence(line),)
    return Block(entry.pid, None, entry.comm, "", False, (), told, at, at, Origin.LINE, (rest[:_EVIDENCE_LIMIT],))


class LineAssembler:
    """Joins what journald split (too long, or another process wrote in between) per process, and gives whole lines.

    In a log without times each line gets the one that its program wrote (own_times.py; `now_us` for those without a year).
    """

    def __init__(self, now_us: int | None = None) -> None:
        self._times: OwnTimes | None = OwnTimes(now_us)
        self._held: dict[int | None, JournalEntry] = {}
        self._held_size = 0
        self._count = 0

    def feed(self, entry: JournalEntry) -> Iterator[Line]:
        """Lines that this entry completes. A part without its newline is held until its process goes on."""
        self._count += 1
        held = self._held.pop(entry.pid, None) if self._held else None
        if held is not None:
            self._held_size -= len(held.message)
            entry = entry._replace(message=held.message + entry.message)
        split = entry.line_break in (LineBreak.LINE_MAX, LineBreak.PID_CHANGE)
        if split and len(entry.message) < MESSAGE_LIMIT:
            self._held[entry.pid] = entry
            self._held_size += len(entry.message)
            yield from self._overdue()
            return
        yield from self._lines(entry)

    def _overdue(self) -> Iterator[Line]:
        """The parts that have waited longest, where all together are too many: their rests will be lines of their own."""
        while self._held_size > _HELD_LIMIT or len(self._held) > _HELD_PARTS:
            entry = self._held.pop(next(iter(self._held)))
            self._held_size -= len(entry.message)
            yield from self._lines(entry)

    @property
    def holds(self) -> bool:
        """Whether a part of a line waits for its rest, and nobody knows whose it is."""
        return None in self._held

    @property
    def held(self) -> tuple[int, ...]:
        """Processes that wrote a part of a line."""
        return tuple(pid for pid in self._held if pid is not None)

    def skip(self, count: int) -> None:
        """Count entries that aren't read, so that line numbers stay right."""
        self._count += count

    def flush(self) -> Iterator[Line]:
        """What is still held, at the end of the stream."""
        held, self._held, self._held_size = self._held, {}, 0
        for entry in held.values():
            yield from self._lines(entry)

    def _lines(self, entry: JournalEntry) -> Iterator[Line]:
        record = read_structured(entry.message) if entry.message.startswith("{") else None
        if record:
            entry = entry._replace(realtime_us=entry.realtime_us or record.time_us)
            yield from (Line(clean(text), entry, self._count) for text in record.lines)
            return
        if entry.realtime_us is not None or entry.monotonic_us is not None:
            self._times = None  # the log's own clock is the better one
        for text, progress in split_message(entry.message):
            if self._times is None:
                yield Line(text, entry, self._count, progress)
            else:
                yield Line(text, entry._replace(realtime_us=self._times.of(text)), self._count, progress)
