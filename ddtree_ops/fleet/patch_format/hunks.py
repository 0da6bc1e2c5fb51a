"""Read the hunks of one file's diff: counted lines, their ends kept.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .model import BadPatch, Hunk

_HEADER = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
# git format-patch ends a patch with these; two dashes can't be told from a removed line in any other way
SIGNATURE = (b"-- ", b"--")


@dataclass
class Cursor:
    """A place in a patch: its name, its lines with their ends, and how far it was read."""

    name: str
    lines: Sequence[bytes]
    at: int = 0

    def peek(self, ahead: int = 0) -> bytes:
        """The line that comes, without reading it; empty at the end."""
        return self.lines[self.at + ahead] if self.at + ahead < len(self.lines) else b""

    def bad(self, what: str) -> BadPatch:
        """The error for the line that comes."""
        return BadPatch(f"{self.name}:{min(self.at + 1, len(self.lines))}", what)


@dataclass
class _Side:
    """Lines of a hunk that one version of the file has."""

    left: int
    lines: list[bytes] = field(default_factory=list)

    def take(self, line: bytes, cursor: Cursor) -> None:
        if self.left == 0:
            raise cursor.bad("the hunk has more lines than its header counts")
        self.left -= 1
        self.lines.append(line)

    def cut_newline(self, cursor: Cursor) -> None:
        if self.left != 0:
            raise cursor.bad("a line without a newline at its end is not the last one of the hunk")
        self.lines[-1] = self.lines[-1].removesuffix(b"\n")


def is_hunk(line: bytes) -> bool:
    """Whether a hunk begins here."""
    return line.startswith(b"@@ -")


def starts_file(cursor: Cursor) -> bool:
    """Whether the two names of a file come."""
    return cursor.peek().startswith(b"--- ") and cursor.peek(1).startswith(b"+++ ")


def read_hunks(cursor: Cursor) -> tuple[Hunk, ...]:
    """All hunks that come, in order; at least one. Raises BadPatch."""
    found: list[Hunk] = []
    shift = 0  # how many lines the hunks before have added
    end = 0
    while is_hunk(cursor.peek()):
        start = cursor.at
        hunk = _read_hunk(cursor, len(found) + 1)
        if _index(hunk.old_start, hunk.old) < end:
            raise BadPatch(f"{cursor.name}:{start + 1}", "the hunk overlaps the one before, or stands before it")
        end = _index(hunk.old_start, hunk.old) + len(hunk.old)
        if _index(hunk.new_start, hunk.new) != _index(hunk.old_start, hunk.old) + shift:
            raise BadPatch(f"{cursor.name}:{start + 1}", "the hunk's two positions don't follow from the hunks before it")
        shift += len(hunk.new) - len(hunk.old)
        found.append(hunk)
    if not found:
        raise cursor.bad("expected a hunk (@@ -line,count +line,count @@)")
    if cursor.peek()[:1] in (b"+", b"-", b" ") and not starts_file(cursor) and cursor.peek().rstrip(b"\r\n") not in SIGNATURE:
        raise cursor.bad("the hunk has more lines than its header counts")
    return tuple(found)


def _index(start: int, lines: Sequence[bytes]) -> int:
    """Lines before the hunk: a side without lines names the line that it comes after."""
    return start - 1 if lines else start


def _read_hunk(cursor: Cursor, number: int) -> Hunk:
    match = _HEADER.match(cursor.peek())
    if match is None:
        raise cursor.bad("expected @@ -line,count +line,count @@")
    old_start, old_count, new_start, new_count = (1 if text is None else int(text) for text in match.groups())
    if (old_start == 0 and old_count) or (new_start == 0 and new_count) or not (old_count or new_count):
        raise cursor.bad("the hunk's header names lines that can't be")
    line = cursor.at + 1
    cursor.at += 1
    marks = bytearray()
    old, new = _Side(old_count), _Side(new_count)
    while old.left or new.left:
        mark = _read_line(cursor, old, new)
        _read_end(cursor, mark, old, new)
        marks += mark
    text = marks.decode()
    before, after = len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))
    if before == len(text):
        raise BadPatch(f"{cursor.name}:{line}", "the hunk changes nothing")
    return Hunk(number, line, old_start, new_start, tuple(old.lines), tuple(new.lines), before, after)


def _read_line(cursor: Cursor, old: _Side, new: _Side) -> bytes:
    """Take one line; returns its mark."""
    line = cursor.peek()
    mark, text = line[:1], line[1:]
    if line in (b"\n", b"\r\n"):  # an editor took the blank of an empty line of context
        mark, text = b" ", line
    if not line:
        raise cursor.bad("the patch ends in the middle of a hunk")
    if mark not in (b" ", b"-", b"+"):
        raise cursor.bad("the hunk has fewer lines than its header counts")
    if mark != b"+":
        old.take(text, cursor)
    if mark != b"-":
        new.take(text, cursor)
    if not text.endswith(b"\n"):
        raise cursor.bad("the patch ends in the middle of a line")
    cursor.at += 1
    return mark


def _read_end(cursor: Cursor, mark: bytes, old: _Side, new: _Side) -> None:
    """`\\ No newline at end of file`, in any language, belongs to the line before it."""
    if not cursor.peek().startswith(b"\\"):
        return
    if mark != b"+":
        old.cut_newline(cursor)
    if mark != b"-":
        new.cut_newline(cursor)
    cursor.at += 1
