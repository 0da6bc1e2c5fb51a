"""Reading on in the host's audit log: each record once, also when the log begins anew and the former file is kept beside it.

How it does that: role service, lock.py, shorten(). A line is known again by a hash of it and of all lines before it in its file:
neither a copy that was put back nor a file that was renamed changes that. Where lines before it were edited, none is known again,
and time alone tells what is new. Two files of 4 MiB at most, read when they change; of a longer one, which isn't that program's
any more, only the newest records are read.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.absence import told
from ddtree_ops.exporter.audit.record_time import plausible, written
from ddtree_ops.fleet import places
from ddtree_ops.ports import Shell
from ddtree_ops.units.json_object import json_object

FILES = (f"{places.AUDIT}.1", places.AUDIT)  # the older one first
LONGEST_LINE = 256 << 10  # a longer one is no record
MOST_MARKS = 16
MOST_BYTES = 16 << 20  # of one file
_SECONDS = 20  # of reading one
_Line = tuple[bytes, str]


@dataclass(frozen=True, slots=True)
class Position:
    """Behind the line of the last of `marks`; those before it serve where that line was edited. None: nothing was ever read.

    `newest`: the latest time of a record so far, Unix time.
    """

    marks: tuple[str, ...] = ()
    newest: float = 0.0


class BeganAnew(HostCommandFailed):
    """The log began anew while it was read: what was read may be of either file."""


class AuditLog:
    """`position` may be kept and given again after a restart. `problem`: what of the log can't be read."""

    def __init__(self, shell: Shell, position: Position) -> None:
        self._shell = shell
        self.position = position
        self.problem: str | None = None

    def look(self) -> str:
        """What differs when there may be news. Raises Unreachable, HostCommandFailed (a directory that is closed to us)."""
        look = told(self._shell, "stat", "-c", "%i %s %.9Y %n", *FILES)
        long = [
            f"{path} has {size} bytes, of which the last {MOST_BYTES} are read"
            for path, size in _sizes(look).items()
            if size > MOST_BYTES
        ]
        self.problem = f"{self._shell.host}: {'; '.join(long)}" if long else None
        return look

    def records(self, look: str, now: float) -> Iterator[dict[str, Any]]:
        """New ones, in their order; `position` is behind them once all were taken. `now` is Unix time.

        Raises BeganAnew: then nothing of it holds. Raises Unreachable, HostCommandFailed.
        """
        sizes = _sizes(look)
        known, since = self._behind([path for path in FILES if path in sizes], sizes)
        for line, mark in known:
            record = json_object(line) if len(line) <= LONGEST_LINE else None
            at = plausible(written(record.get("at")), now) if record is not None else None
            before = self.position
            self.position = Position((*before.marks, mark)[-MOST_MARKS:], max(before.newest, at or 0.0))
            if record is not None and (since is None or (at or 0.0) > since):
                yield record
        if _inodes(look) != _inodes(self.look()):
            raise BeganAnew(f"{self._shell.host}: the audit log began anew while it was read")

    def _behind(self, paths: Sequence[str], sizes: Mapping[str, int]) -> tuple[Iterator[_Line], float | None]:
        """Lines behind the last one that was read, None: all are news.

        If it is nowhere any more, those behind one before it, or all, and the time from which they are news.
        """
        marks, since = self.position.marks, self.position.newest or math.inf
        for number in reversed(range(len(paths) if marks else 0)):
            rest, last = self._rest(self._lines(paths[number], sizes))
            if rest is not None:
                later = (self._lines(path, sizes) for path in paths[number + 1 :])
                return chain(rest, *later), None if last == marks[-1] else since
        return chain(*(self._lines(path, sizes) for path in paths)), since if marks else None

    def _rest(self, lines: Iterator[_Line]) -> tuple[list[_Line] | None, str]:
        """What is behind the last line whose mark is known, and that mark; None: there is no such line."""
        rest, last = None, ""
        for line in lines:
            if line[1] in self.position.marks:
                rest, last = list[_Line](), line[1]
            elif rest is not None:
                rest.append(line)
        return rest, last

    def _lines(self, path: str, sizes: Mapping[str, int]) -> Iterator[_Line]:
        """Whole lines only, the last one may be half written, and the first of a file that is too long; each with its mark."""
        mark, half, cut = "", b"", sizes[path] > MOST_BYTES
        read = ("tail" if cut else "head", "-c", str(MOST_BYTES), path)
        with self._shell.stream(("timeout", str(_SECONDS), *read)) as stream:
            for piece in stream.chunks():
                *lines, half = (half + piece).split(b"\n")
                for line in lines[cut:]:
                    mark = hashlib.sha256(mark.encode() + line).hexdigest()[:16]
                    yield line, mark
                cut = cut and not lines


def _sizes(look: str) -> dict[str, int]:
    """Bytes of each file that is there."""
    return {path: int(size) for _, size, _, path in (line.split(" ", 3) for line in look.splitlines())}


def _inodes(look: str) -> list[str]:
    return [line.partition(" ")[0] for line in look.splitlines()]
