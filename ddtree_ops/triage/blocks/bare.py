"""An exception's last line that stands alone: a program caught it and printed no more, or its frames are lost.

Only what is surely Python's counts: a class name that ends as exceptions do, a colon and words, from the line's beginning.
`Error: ...` is anybody's. Warnings end nothing. Text within a log record (behind its date, or the undated lines that go on
from it) may be a quotation.
"""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Block, Origin, ParsedException
from ddtree_ops.triage.blocks.exception_lines import may_stand_alone, parse_exception
from ddtree_ops.triage.blocks.recogniser import SETTLE_US
from ddtree_ops.triage.lines import Line, Prefix, evidence

#: What every such line has in it.
LITERALS = ("Error: ", "Exception: ", "Interrupt: ", "Exit: ")

_TIME = re.compile(r"\d\d:\d\d:\d\d")  # a logger's prefix has one, a launcher's hasn't
_SPEAKERS_LIMIT = 1024


class BareExceptions:
    """Feed it the lines that no traceback took."""

    def __init__(self) -> None:
        self._records: dict[int | None, int | None] = {}  # processes amidst a record, and since when

    def feed(self, line: Line, prefix: Prefix) -> list[Block]:
        """A block of this line, if it is one."""
        pid, now = line.entry.pid, line.entry.realtime_us
        if prefix.dated or _TIME.search(prefix.stamp):
            if len(self._records) >= _SPEAKERS_LIMIT:
                self._records.clear()
            self._records[pid] = now
            return []
        if not prefix.rest.strip():
            self._records.pop(pid, None)
            return []
        if not any(word in prefix.rest for word in LITERALS) or self._amidst_record(pid, now):
            return []
        return self._read(line, prefix)

    def _amidst_record(self, pid: int | None, now: int | None) -> bool:
        if pid not in self._records:
            return False
        since = self._records[pid]
        return since is None or now is None or now - since <= SETTLE_US

    def _read(self, line: Line, prefix: Prefix) -> list[Block]:
        found = parse_exception(prefix.rest)
        if not found or not found.message.strip() or not may_stand_alone(found.type):
            return []
        exception = ParsedException(found.type, found.message.rstrip(), None, (), complete=False)
        at, pid = line.entry.realtime_us, line.entry.pid if prefix.pid is None else prefix.pid
        told = (evidence(line),)
        return [Block(pid, prefix.rank, line.entry.comm, "", False, (exception,), told, at, at, Origin.BARE_EXCEPTION)]
