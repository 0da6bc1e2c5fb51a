"""From raw messages to lines: control sequences removed, progress bars resolved, joined again, prefixes read.

tqdm redraws a bar with `\\r` and writes no newline, so the next log record follows on the same line: a traceback header
can stand behind a bar. Here what follows a bar becomes a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ddtree_ops.triage.block import Block, Evidence, Origin
from ddtree_ops.triage.entry import MESSAGE_LIMIT, JournalEntry, LineBreak

# ECMA-48: CSI sequences, OSC/DCS/PM/APC/SOS strings up to BEL or ST, other two-character escapes.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# tqdm's bar: `desc:  25%|##  | 1/4 [00:56<02:49, 56.47s/it]`, SGLang's `0% Completed | 0/1 [...]`, or `12it [00:01, 9it/s]`.
_BAR = re.compile(r"[^\r\n]*?(?:\d+%[^|\r\n]*\|[^\r\n]*?\d\S*/\S+ \[[^\]\r\n]*\]|\d+\S*(?:it|B) \[\d[^\]\r\n]*\])")

_PREFIX = re.compile(r"\[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?)(?P<rank>(?: (?:ATTN_)?[A-Z]{2,3}\d+)*)\](?: |$)")
_TORCH_PREFIX = re.compile(r"\[(?P<rank>rank\d+)\]: ?")
_NUMBERS = re.compile(r"\d+")
_EVIDENCE_LIMIT = 2000


class Line(NamedTuple):
    """One line of text with the entry it came from. `progress`: a bar in its last state."""

    text: str
    entry: JournalEntry
    number: int
    progress: bool = False


class Prefix(NamedTuple):
    """What stood before a line's text. `dated`: it begins a log record. `rank`: `TP3`, `DP0 TP2`, `rank3` or None."""

    dated: bool
    rank: str | None
    rest: str

    @property
    def leading(self) -> bool:
        """True for rank 0 of everything and without a rank: the lines that tell of the server as a whole."""
        return self.rank is None or not any(map(int, _NUMBERS.findall(self.rank)))


def clean(text: str) -> str:
    """Text without terminal control sequences, control characters (tab stays) and characters that change direction."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def split_message(message: str) -> list[tuple[str, bool]]:
    """The lines within one message as (text, is a progress bar); the bars between two texts count as one, in its last state.

    A message that begins as a dated log record is never cut at `\\r`: it may quote anything, a user's prompt too.
    """
    if message.isprintable():  # quickest, and true of nearly every line
        return [(message, False)]
    if _PREFIX.match(message):
        return [(clean(part), False) for part in message.split("\n")]
    found: list[tuple[str, bool]] = []
    for raw_line in message.split("\n"):
        segments = _segments(_ESCAPES.sub("", raw_line)) if raw_line else [("", False)]
        found.extend(segments)
    return found


def _segments(line: str) -> list[tuple[str, bool]]:
    result: list[tuple[str, bool]] = []
    for segment in line.split("\r"):
        text = _CONTROLS.sub("", segment)
        bar = _BAR.match(text) if "[" in text else None
        if bar:
            if result and result[-1][1]:
                result.pop()
            result.append((bar.group().rstrip(), True))
            text = text[bar.end() :]
        if text.strip():
            result.append((text, False))
    return result or [("", False)]


def read_prefix(text: str) -> Prefix:
    """Split SGLang's `[date TPn] ` or torch's `[rankn]: ` from a line."""
    if not text.startswith("["):
        return Prefix(False, None, text)
    found = _PREFIX.match(text)
    if found:
        return Prefix(True, found["rank"].strip() or None, text[found.end() :])
    found = _TORCH_PREFIX.match(text)
    if found:
        return Prefix(False, found["rank"], text[found.end() :])
    return Prefix(False, None, text)


def evidence(line: Line) -> Evidence:
    """A line as evidence; cut, for a line can be very long."""
    return Evidence(line.entry.cursor, line.number, line.entry.realtime_us, line.text.strip()[:_EVIDENCE_LIMIT])


def line_block(line: Line, rest: str) -> Block:
    """A block of this one line; `rest` is its text without prefix."""
    entry, at = line.entry, line.entry.realtime_us
    told = (evidence(line),)
    return Block(entry.pid, None, entry.comm, "", False, (), told, at, at, Origin.LINE, (rest[:_EVIDENCE_LIMIT],))


class LineAssembler:
    """Joins what journald split (too long, or another process wrote in between) per process, and gives whole lines."""

    def __init__(self) -> None:
        self._held: dict[int | None, JournalEntry] = {}
        self._count = 0

    def feed(self, entry: JournalEntry) -> Iterator[Line]:
        """Lines that this entry completes. A part without its newline is held until its process goes on."""
        self._count += 1
        held = self._held.pop(entry.pid, None) if self._held else None
        if held is not None:
            entry = entry._replace(message=held.message + entry.message)
        split = entry.line_break in (LineBreak.LINE_MAX, LineBreak.PID_CHANGE)
        if split and len(entry.message) < MESSAGE_LIMIT:
            self._held[entry.pid] = entry
            return
        yield from self._lines(entry)

    @property
    def holds(self) -> bool:
        """Whether a part of a line waits for its rest."""
        return bool(self._held)

    def skip(self, count: int) -> None:
        """Count entries that aren't read, so that line numbers stay right."""
        self._count += count

    def flush(self) -> Iterator[Line]:
        """What is still held, at the end of the stream."""
        held, self._held = self._held, {}
        for entry in held.values():
            yield from self._lines(entry)

    def _lines(self, entry: JournalEntry) -> Iterator[Line]:
        for text, progress in split_message(entry.message):
            yield Line(text, entry, self._count, progress)
