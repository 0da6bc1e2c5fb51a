"""From journal entries to a diagnosis."""

from __future__ import annotations

from dataclasses import replace

from ddtree_ops.triage.entry import UNREADABLE, JournalEntry
from ddtree_ops.triage.judge import judge
from ddtree_ops.triage.lines import Line, LineAssembler
from ddtree_ops.triage.model import UNREADABLE_INPUT, Diagnosis, Event, Failure, Role, Verdict
from ddtree_ops.triage.run import Run

_GAP_LIMIT = 20
_RUN_LIMIT = 16  # of a unit in a restart loop the first and the latest runs are kept


class Diagnoser:
    """Feed it a unit's entries in order, as they come; `finish()` gives the diagnosis."""

    def __init__(self) -> None:
        self._runs: dict[str | None, Run] = {}
        self._current = Run()
        self._invocation: str | None = None
        self._assembler = LineAssembler()
        self._entries = 0
        self._since: int | None = None
        self._until: int | None = None
        self._unit: str | None = None
        self._gaps: list[Event] = []

    def feed(self, entry: JournalEntry) -> None:
        """Take an entry."""
        if entry.transport == UNREADABLE:
            self._gaps += [Event(entry.realtime_us, UNREADABLE_INPUT, entry.message)][: _GAP_LIMIT - len(self._gaps)]
            return
        self._entries += 1
        if entry.realtime_us is not None:
            self._since = self._since or entry.realtime_us
            self._until = entry.realtime_us
        self._unit = self._unit or entry.unit
        self._choose_run(entry)
        for line in self._assembler.feed(entry):
            self._current.feed(line)

    def finish(self) -> Diagnosis:
        """The diagnosis of everything fed."""
        for line in self._assembler.flush():
            self._of_line(line).feed(line)
        runs = list(self._runs.values()) or [self._current]
        for run in runs:
            run.finish()
        failures = _merge([failure for run in runs for failure in judge(run)])
        return Diagnosis(
            verdict=self._verdict(failures),
            failures=failures,
            events=(*self._gaps, *(event for run in runs for event in run.events)),
            lines_read=self._entries,
            since_us=self._since,
            until_us=self._until,
            invocation=self._invocation,
            unit=self._unit,
        )

    def _choose_run(self, entry: JournalEntry) -> None:
        """A new invocation is a new run; lines without one (the manager's, some forms) belong to the current run."""
        found = entry.invocation_id
        if found is None or (found == self._invocation and self._runs):
            return
        if found not in self._runs:
            # What came before the first invocation was named (a plain "Starting ...") belongs to it.
            self._runs[found] = self._current if not self._runs else Run()
            while len(self._runs) > _RUN_LIMIT:
                del self._runs[list(self._runs)[1]]
        self._invocation, self._current = found, self._runs[found]

    def _of_line(self, line: Line) -> Run:
        return self._runs.get(line.entry.invocation_id, self._current)

    def _verdict(self, failures: tuple[Failure, ...]) -> Verdict:
        if any(failure.role is Role.ROOT for failure in failures):
            return Verdict.FAILURE
        understood = any(run.understood for run in (*self._runs.values(), self._current))
        return Verdict.NO_FAILURE if understood else Verdict.INCONCLUSIVE


def _merge(failures: list[Failure]) -> tuple[Failure, ...]:
    """Equal failures of several runs (a restart loop) become one. Different runs may each have a root, in order of time."""
    found: dict[tuple[str, Role], Failure] = {}
    for item in failures:
        name = (item.fingerprint, item.role)
        known = found.get(name)
        if known is None:
            found[name] = item
            continue
        processes = tuple(dict.fromkeys((*known.processes, *item.processes)))
        found[name] = replace(known, count=known.count + item.count, last_us=item.last_us, processes=processes)
    order = list(Role)
    return tuple(sorted(found.values(), key=lambda item: order.index(item.role)))
