"""Reading on in the host's audit log: each record once, also when the log begins anew and the former file is kept beside it.

How it does that: role service, lock.py, shorten(). A line is known again by a hash of it and of all lines before it in its file:
neither a copy that was put back nor a file that was renamed changes that. Two files of 4 MiB at most, read when they change.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
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
_MOST_BYTES = 16 << 20  # of one file
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
    """`position` may be kept and given again after a restart."""

    def __init__(self, shell: Shell, position: Position) -> None:
        self._shell = shell
        self.position = position

    def look(self) -> str:
        """What differs when there may be news. Raises Unreachable, HostCommandFailed (a directory that is closed to us)."""
        return told(self._shell, "stat", "-c", "%i %s %.9Y %n", *FILES)

    def records(self, look: str, now: float) -> Iterator[dict[str, Any]]:
        """New ones, in their order; `position` is behind them once all were taken. `now` is Unix time.

        Raises BeganAnew: then nothing of it holds. Raises Unreachable, HostCommandFailed.
        """
        known, since = self._behind([path for path in FILES if f" {path}\n" in look])
        for line, mark in known:
            record = json_object(line) if len(line) <= LONGEST_LINE else None
            at = plausible(written(record.get("at")), now) if record is not None else None
            before = self.position
            self.position = Position((*before.marks, mark)[-MOST_MARKS:], max(before.newest, at or 0.0))
            if record is not None and (since is None or (at or 0.0) > since):
                yield record
        if _inodes(look) != _inodes(self.look()):
            raise BeganAnew(f"{self._shell.host}: the audit log began anew while it was read")

    def _behind(self, paths: Sequence[str]) -> tuple[Iterator[_Line], float | None]:
        """Lines behind the last one that was read. If that is nowhere any more all, and the time from which they are news."""
        for number in reversed(range(len(paths) if self.position.marks else 0)):
            rest = self._rest(paths[number])
            if rest is not None:
                return chain(rest, *map(self._lines, paths[number + 1 :])), None
        return chain(*map(self._lines, paths)), (self.position.newest or math.inf) if self.position.marks else None

    def _rest(self, path: str) -> list[_Line] | None:
        rest: list[_Line] | None = None
        for line in self._lines(path):
            if line[1] in self.position.marks:
                rest = []
            elif rest is not None:
                rest.append(line)
        return rest

    def _lines(self, path: str) -> Iterator[_Line]:
        """Whole lines only, the last one may be half written, each with its mark."""
        mark, half = "", b""
        with self._shell.stream(("timeout", str(_SECONDS), "head", "-c", str(_MOST_BYTES), path)) as stream:
            for piece in stream.chunks():
                *lines, half = (half + piece).split(b"\n")
                for line in lines:
                    mark = hashlib.sha256(mark.encode() + line).hexdigest()[:16]
                    yield line, mark


def _inodes(look: str) -> list[str]:
    return [line.partition(" ")[0] for line in look.splitlines()]
