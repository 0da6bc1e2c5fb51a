"""From a unit's journal entries to its failure report, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ddtree_ops.report.failure import FailureReport, from_diagnosis
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.read import read_log
from ddtree_ops.triage.model import NOTHING_LEFT, Event

_UNITS_NAMED = 8


def triage_entries(entries: Iterable[JournalEntry], host: str | None = None, unit: str | None = None) -> FailureReport:
    """Read all entries and report; `unit` only names the report."""
    diagnoser = Diagnoser()
    for entry in entries:
        diagnoser.feed(entry)
    return from_diagnosis(diagnoser.finish(), host=host, unit=unit)


def triage_bytes(chunks: Iterable[bytes], host: str | None = None, unit: str | None = None) -> FailureReport:
    """Read a log in whatever form and report."""
    return triage_entries(read_log(chunks), host, unit)


def of_one_unit(entries: Iterable[JournalEntry], unit: str) -> FailureReport:
    """Read the entries of one unit, and those that name none; the report says so if the unit has none."""
    chosen = _Chosen(entries, unit)
    report = triage_entries(chosen, unit=unit)
    return report if chosen.found else replace(report, events=(chosen.nothing(), *report.events))


class _Chosen:
    """Passes over the entries of other units, and remembers a few of their names for who has mistyped one."""

    def __init__(self, entries: Iterable[JournalEntry], unit: str) -> None:
        self._entries, self._unit = entries, unit
        self._others: dict[str, None] = {}
        self.found = False

    def __iter__(self) -> Iterator[JournalEntry]:
        for entry in self._entries:
            if entry.unit is None or entry.unit == self._unit:
                self.found = self.found or entry.unit is not None
                yield entry
            elif len(self._others) < _UNITS_NAMED:
                self._others[entry.unit] = None

    def nothing(self) -> Event:
        others = f"; there are entries of {', '.join(self._others)}" if self._others else ""
        return Event(None, NOTHING_LEFT, f"no entry of {self._unit} in the input{others}")
