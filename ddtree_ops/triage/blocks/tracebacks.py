"""Recognises Python tracebacks in interleaved output of several processes, while it arrives.

A traceback is complete with its exception line, but a message may have more lines and a chain may follow, so it is given
out when the first of these comes: the same process writes something that can't belong to it (a dated record, another
traceback); another process speaks after the empty line that ends SGLang's record; the log's clock is `SETTLE_US` past its
last line; `settle()` (a sign of the crash was read); `flush()`.
"""

from __future__ import annotations

import re
from typing import ClassVar

from ddtree_ops.triage.block import Block
from ddtree_ops.triage.blocks.building import Building, State
from ddtree_ops.triage.blocks.frames import HEADER
from ddtree_ops.triage.lines import Line, Prefix

#: A traceback's lines come within microseconds of each other, chained ones too. What comes later is something else.
SETTLE_US = 250_000

_ACTIVE_LIMIT = 1024
_LOGGER_PREFIX_LIMIT = 200

Key = tuple[int | None, str | None]


class Tracebacks:
    """Feed it every line; it answers with the tracebacks that became complete."""

    literals: ClassVar[tuple[str, ...]] = (HEADER,)

    def __init__(self) -> None:
        self._active: dict[Key, tuple[Building, re.Pattern[str] | None]] = {}

    @property
    def busy(self) -> bool:
        """Whether a traceback is being read."""
        return bool(self._active)

    def feed(self, line: Line, prefix: Prefix) -> list[Block]:
        """Take one line (`prefix`: what `read_prefix` made of it)."""
        if not self._active and HEADER not in line.text:
            return []
        is_header = HEADER in line.text and line.text.rstrip().endswith(HEADER)
        if not self._active:
            if is_header and not line.progress:
                self._open(line, prefix)
            return []
        key = self._key_of(line, prefix)
        done = self._overdue(key, line.entry.realtime_us)
        if line.progress:
            return done
        current = self._active.get(key)
        if current is not None:
            building, pattern = current
            text = prefix.rest if not prefix.dated else line.text
            if pattern is not None:
                inner = _without(pattern, text)
                if inner is None and building.untouched:  # it was part of a message, not of every line
                    self._active[key] = building, None
                text = text if inner is None else inner
            if building.take(text, line, dated=prefix.dated):
                return done
            done += self._close(key)
        if is_header:
            self._open(line, prefix)
        return done

    def settle(self) -> list[Block]:
        """Give out what has its exception line: something else shows that the process is done writing."""
        ready = [key for key, (building, _) in self._active.items() if building.state is State.MESSAGE]
        return [item for key in ready for item in self._close(key)]

    def flush(self) -> list[Block]:
        """Give out everything, at the end of the stream; a part without exception line is marked incomplete."""
        return [item for key in list(self._active) for item in self._close(key)]

    def _key_of(self, line: Line, prefix: Prefix) -> Key:
        """With a process id that alone; in plain text the rank, and lines without one continue the latest traceback."""
        if line.entry.pid is not None:
            return line.entry.pid, None
        if prefix.rank is None and not prefix.dated and self._active:
            return next(reversed(self._active))
        return None, prefix.rank

    def _open(self, line: Line, prefix: Prefix) -> None:
        if len(self._active) >= _ACTIVE_LIMIT:
            self._active.pop(next(iter(self._active)))
        before = prefix.rest[: prefix.rest.rindex(HEADER)].removesuffix("Exception Group ")
        pattern = None if prefix.dated else _prefix_pattern(before)
        key = (line.entry.pid, None) if line.entry.pid is not None else (None, prefix.rank)
        building = Building(line, rank=prefix.rank, header=before.strip(" :+|"), record=prefix.dated)
        self._active[key] = building, pattern

    def _close(self, key: Key) -> list[Block]:
        building, _ = self._active.pop(key)
        result = building.finish()
        return [result] if result else []

    def _overdue(self, speaking: Key, now_us: int | None) -> list[Block]:
        done: list[Block] = []
        for key, (building, _) in list(self._active.items()):
            if building.state is not State.MESSAGE:
                continue
            late = now_us is not None and building.last_us is not None and now_us - building.last_us > SETTLE_US
            over = building.record and building.blanks and key != speaking
            if late or over:
                done += self._close(key)
        return done


def _without(pattern: re.Pattern[str], text: str) -> str | None:
    """The text behind a logger's own prefix that stood before the header too, whatever its numbers are on this line."""
    found = pattern.match(text)
    return text[found.end() :] if found else None


def _prefix_pattern(before: str) -> re.Pattern[str] | None:
    """What stood before the header, any numbers; the blank that ends it is missing on empty lines."""
    words = before.rstrip()
    if not words.strip("+| ") or len(words) > _LOGGER_PREFIX_LIMIT:
        return None
    numbers_free = re.sub(r"\d+", r"\\d+", re.escape(words))
    return re.compile(f"{numbers_free} {{0,{len(before) - len(words)}}}")
