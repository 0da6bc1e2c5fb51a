"""Reading on in the host's audit log: each record once, also when the log begins anew and the former file is kept beside it.

How it does that: role service, lock.py, shorten(). An inode alone doesn't make a file the same one: it may have been written
anew in its place, and a copy that was put back, or edited, has another. So the last line read is looked for again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.audit import files
from ddtree_ops.exporter.audit.files import LogFile
from ddtree_ops.exporter.audit.position import Position, mark
from ddtree_ops.exporter.audit.record_time import plausible, written
from ddtree_ops.ports import Shell
from ddtree_ops.units.json_object import json_object


class Moved(HostCommandFailed):
    """The log began anew while it was read: what was read may be of either file."""


class AuditTail:
    """Reads records in their order. `position` may be kept and given again after a restart; `now` is Unix time."""

    def __init__(self, shell: Shell, position: Position, now: float) -> None:
        self._shell, self._now = shell, now
        self.position = position

    def records(self) -> Iterator[dict[str, Any]]:
        """Those that are new. `position` is behind them once all were taken.

        Raises Moved: then nothing of it holds. Raises Unreachable, HostCommandFailed.
        """
        before, there = self.position, files.look(self._shell)
        if before.is_first:
            parts, since = [(file, 0) for file in there], None
        else:
            parts, since = self._rest(there)
        for file, start in parts:
            for record, known, at in self._of(file, start):
                if since is None or (at is not None and at >= since and known not in before.marks):
                    yield record
        if self.position != before and _places(there) != _places(files.look(self._shell)):
            raise Moved(f"{self._shell.host}: the audit log began anew while it was read")

    def _rest(self, there: tuple[LogFile, ...]) -> tuple[list[tuple[LogFile, int]], float | None]:
        """Files and where to begin in them; and the time from which records are news, if what was read is nowhere any more."""
        for number, file in enumerate(there):
            if file.inode == self.position.inode and self._continues(file):
                return [(file, self.position.offset), *((later, 0) for later in there[number + 1 :])], None
        for number, file in reversed(tuple(enumerate(there))):
            end = self._behind_known(file)
            if end is not None:
                return [(file, end), *((later, 0) for later in there[number + 1 :])], None
        since = self.position.newest or math.inf  # without any time nothing there can be told from what was read
        return [(file, 0) for file in there], since if self.position.marks else None

    def _continues(self, file: LogFile) -> bool:
        """Whether the line before our place is the last one that was read there."""
        offset, length = self.position.offset, self.position.length
        if file.size <= offset or not length:
            return file.size >= offset
        line = files.piece(self._shell, file, offset - length, length)
        return line.endswith(b"\n") and mark(line[:-1]) in self.position.marks[-1:]

    def _behind_known(self, file: LogFile) -> int | None:
        known = frozenset(self.position.marks)
        return max((line.end for line in files.lines(self._shell, file, 0) if mark(line.data) in known), default=None)

    def _of(self, file: LogFile, start: int) -> Iterator[tuple[dict[str, Any], str, float | None]]:
        """Records, each with its line's mark and its time."""
        self.position = replace(self.position, inode=file.inode, offset=start, length=self._length(file, start))
        for line in files.lines(self._shell, file, start):
            record = json_object(line.data)
            at = plausible(written(record.get("at")), self._now) if record is not None else None
            marks, newest = self.position.behind(line.data, at)
            self.position = Position(file.inode, line.end, len(line.data) + 1, marks, newest)
            if record is not None:
                yield record, marks[-1], at

    def _length(self, file: LogFile, start: int) -> int:
        """Of the line before: known if it is the one that was read last."""
        before = self.position
        return before.length if (file.inode, start) == (before.inode, before.offset) else 0


def _places(there: tuple[LogFile, ...]) -> list[tuple[str, int]]:
    return [(file.path, file.inode) for file in there]
