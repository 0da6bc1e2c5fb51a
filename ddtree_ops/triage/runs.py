"""Which run of the server a line belongs to."""

from __future__ import annotations

import re
from typing import NamedTuple

from ddtree_ops.triage.bounded import Latest
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.lines import Line
from ddtree_ops.triage.run import Run
from ddtree_ops.triage.server_args import MARK

_HOST_LIMIT = 256
_RUN_LIMIT = 16  # of a unit in a restart loop the first and the latest runs are kept
_BEGINS = re.compile(r"(?:Starting|Started) \S|\S+: Scheduled restart job")
_MARK_WITHIN = 160  # server_args= stands behind a prefix


class _Key(NamedTuple):
    """`number` tells runs without a known invocation apart."""

    host: str | None
    boot: str | None
    invocation: str | None
    number: int = 0


class Runs:
    """The runs of a log by (host, boot, invocation).

    Where no invocation is known (text forms), a run begins with the start of a server after one that has ended or told
    its arguments already. A line that names no invocation belongs to the run that its host's line before it belongs to.
    """

    def __init__(self) -> None:
        self._runs: dict[_Key, Run] = {}
        self._key = _Key(None, None, None)
        self._latest: Latest[str | None, _Key] = Latest(_HOST_LIMIT)
        self.current = Run()
        self.invocation: str | None = None

    def all(self) -> list[Run]:
        """All that are kept, in the order in which they began."""
        return list(self._runs.values()) or [self.current]

    def choose(self, entry: JournalEntry) -> None:
        """Make the entry's run the current one."""
        if entry.invocation_id is not None:
            key = _Key(entry.hostname, entry.boot_id, entry.invocation_id)
            if key != self._key or not self._runs:
                self.invocation = entry.invocation_id
                self._turn_to(key)
        elif entry.hostname is not None and entry.hostname != self._key.host:
            self._turn_to(self._latest.get(entry.hostname) or _Key(entry.hostname, entry.boot_id, None))

    def turn_where_it_begins_anew(self, line: Line) -> None:
        """Without invocations: a new run where a server starts again."""
        if self._key.invocation is not None:
            return
        again = MARK in line.text[:_MARK_WITHIN] and self.current.facts.server_args
        if again or (self.current.fate.over and _BEGINS.match(line.text)):
            self._runs.setdefault(self._key, self.current)
            self._turn_to(self._key._replace(number=self._key.number + 1))

    def of_line(self, line: Line) -> Run:
        """The run of a line that was held back."""
        entry = line.entry
        return self._runs.get(_Key(entry.hostname, entry.boot_id, entry.invocation_id), self.current)

    def _turn_to(self, key: _Key) -> None:
        if key not in self._runs:
            # What came before the first run was named (a plain "Starting ...") belongs to it.
            self._runs[key] = self._unnamed(key) or (Run() if self._runs else self.current)
            while len(self._runs) > _RUN_LIMIT:
                del self._runs[list(self._runs)[1]]
        self._key, self.current = key, self._runs[key]
        self._latest.keep(key.host, key)

    def _unnamed(self, key: _Key) -> Run | None:
        """The host's lines before any invocation was named (the kernel's): they belong to the first one."""
        unnamed = key._replace(invocation=None)
        if key.invocation is None or self._key != unnamed or self.current.fate.over:
            return None
        return self._runs.pop(unnamed, None)
