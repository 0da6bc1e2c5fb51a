"""From a unit's journal entries to its failure report, in one call."""

from __future__ import annotations

from collections.abc import Iterable

from ddtree_ops.report.failure import FailureReport, from_diagnosis
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import JournalEntry


def triage_entries(entries: Iterable[JournalEntry], host: str | None = None, unit: str | None = None) -> FailureReport:
    """Read all entries and report."""
    diagnoser = Diagnoser()
    for entry in entries:
        diagnoser.feed(entry)
    return from_diagnosis(diagnoser.finish(), host=host, unit=unit)
