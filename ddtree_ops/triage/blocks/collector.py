"""What the recognisers of raw output share: one draft a process, a logger's margin before every line, an end in time.

Native code writes to stderr without a date or a rank, several processes at once. Where neither the log nor a prefix tells
process ids, a line that bears no rank continues the latest draft.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

from ddtree_ops.triage.block import Block, Evidence, Origin, ParsedException, Thread
from ddtree_ops.triage.blocks.recogniser import SETTLE_US
from ddtree_ops.triage.lines import Line, Prefix, evidence, is_older

_ACTIVE_LIMIT = 256
_LINES_LIMIT = 400
_LINE_LENGTH = 2000
_TAKEN_LENGTH = 8000  # of a line, for what drafts read: a frame or a message line is never longer
_MARGIN_LIMIT = 200

Key = tuple[int | None, str | None]


class Result(NamedTuple):
    """What a draft has read. `rank`: as its own text names it, for logs without process ids."""

    exceptions: tuple[ParsedException, ...] = ()
    threads: tuple[Thread, ...] = ()
    subjects: tuple[int, ...] = ()
    lines: tuple[str, ...] | None = None
    rank: str | None = None


class Draft(Protocol):
    """A block while its lines arrive."""

    def take(self, text: str, dated: bool, /) -> bool:
        """Take the process's next line; False if it is no part of the block, which then is over."""
        ...

    def finish(self) -> Result | None:
        """What was read; None if it was nothing."""
        ...


@dataclass(slots=True)
class _Open:
    draft: Draft
    key: Key
    rank: str | None
    comm: str | None
    header: str
    record: bool
    margin: re.Pattern[str] | None
    shown: int  # lines that become evidence
    first_us: int | None
    last_us: int | None
    evidence: list[Evidence]
    lines: list[str] = field(default_factory=list)

    def take(self, line: Line, prefix: Prefix) -> bool:
        text = _inside(self.margin, line.text if prefix.dated else prefix.rest)[:_TAKEN_LENGTH]
        if not self.draft.take(text, prefix.dated):
            return False
        self.last_us = line.entry.realtime_us
        if text.strip():
            if len(self.evidence) < self.shown:
                self.evidence.append(evidence(line))
            if len(self.lines) < _LINES_LIMIT:
                self.lines.append(text[:_LINE_LENGTH])
        return True

    def block(self, origin: Origin) -> Block | None:
        result = self.draft.finish()
        if result is None:
            return None
        pid = self.key[0]
        lines = tuple(self.lines) if result.lines is None else result.lines
        return Block(
            pid=pid,
            rank=self.rank or (result.rank if pid is None else None),
            comm=self.comm,
            header=self.header,
            record=self.record,
            exceptions=result.exceptions,
            evidence=tuple(self.evidence),
            first_us=self.first_us,
            last_us=self.last_us,
            origin=origin,
            lines=lines,
            threads=result.threads,
            subjects=result.subjects,
        )


class Collector(ABC):
    """A recogniser (recogniser.py) of blocks that begin with a line that holds a literal."""

    literals: ClassVar[tuple[str, ...]]
    origin: ClassVar[Origin]
    shown: ClassVar[int] = 4  # lines of a block that become evidence

    def __init__(self) -> None:
        self._active: dict[Key, _Open] = {}

    @abstractmethod
    def begin(self, text: str, dated: bool, /) -> tuple[Draft, int] | None:
        """The draft of a block that begins with this line, and where in the line it begins; None if none does.

        `dated`: the line is a log record, which may quote anything: a user's prompt, too.
        """

    @property
    def busy(self) -> bool:
        """Whether a block is being read."""
        return bool(self._active)

    def feed(self, line: Line, prefix: Prefix) -> Sequence[Block]:
        """Take one line (`prefix`: what `read_prefix` made of it)."""
        marked = _holds_one(line.text, self.literals)
        if line.progress or not (marked or self._active):
            return ()
        done = self._overdue(line.entry.realtime_us)
        key = _speaker(line, prefix)
        if key == (None, None) and self._active and not prefix.dated and key not in self._active:
            key = next(reversed(self._active))
        current = self._active.get(key)
        # without process ids a log record says nothing of who writes: the block may go on behind it
        if current is not None and (marked or key[0] is not None or not prefix.dated):
            if current.take(line, prefix):
                return done
            done += self._close(key)
        if marked:
            self._open(line, prefix, key)
        return done

    def settle(self) -> Sequence[Block]:
        """Give out everything that is open."""
        return self.flush()

    def flush(self) -> Sequence[Block]:
        """Give out everything, at the end of the stream."""
        return [block for key in list(self._active) for block in self._close(key)]

    def _open(self, line: Line, prefix: Prefix, key: Key) -> None:
        text = prefix.rest[:_TAKEN_LENGTH]
        begun = self.begin(text, prefix.dated)
        if begun is None:
            return
        if len(self._active) >= _ACTIVE_LIMIT:
            self._active.pop(next(iter(self._active)))
        draft, start = begun
        before, at = text[:start], line.entry.realtime_us
        margin = None if prefix.dated else _margin(before)
        key = key if key[0] is not None else (None, prefix.rank)
        self._active[key] = _Open(
            draft=draft,
            key=key,
            rank=prefix.rank,
            comm=line.entry.comm,
            header=before.strip(),
            record=prefix.dated,
            margin=margin,
            shown=self.shown,
            first_us=at,
            last_us=at,
            evidence=[evidence(line)],
            lines=[text[start : start + _LINE_LENGTH]],
        )

    def _close(self, key: Key) -> list[Block]:
        block = self._active.pop(key).block(self.origin)
        return [block] if block else []

    def _overdue(self, now_us: int | None) -> list[Block]:
        if now_us is None:
            return []
        late = [key for key, one in self._active.items() if is_older(one.last_us, now_us, SETTLE_US)]
        return [block for key in late for block in self._close(key)]


def _holds_one(text: str, literals: tuple[str, ...]) -> bool:
    """Every line of a run comes by here: a plain loop takes a third of the time of `any` with a generator."""
    for literal in literals:  # noqa: SIM110
        if literal in text:
            return True
    return False


def _speaker(line: Line, prefix: Prefix) -> Key:
    pid = line.entry.pid if line.entry.pid is not None else prefix.pid
    return (pid, None) if pid is not None else (None, prefix.rank)


def _margin(before: str) -> re.Pattern[str] | None:
    """What stood before the block's first words, any numbers; the blank that ends it is missing on empty lines."""
    words = before.rstrip()
    if not words or len(words) > _MARGIN_LIMIT:
        return None
    numbers_free = re.sub(r"\d+", r"\\d{1,20}", re.escape(words))
    return re.compile(f"{numbers_free} {{0,{len(before) - len(words)}}}")


def _inside(margin: re.Pattern[str] | None, text: str) -> str:
    found = margin.match(text) if margin else None
    return text[found.end() :] if found else text
