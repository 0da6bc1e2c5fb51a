"""From a log to its failure report, in one call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ddtree_ops.report.failure import FailureReport, from_diagnosis
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.gathered import gathered
from ddtree_ops.triage.gate import feed_through
from ddtree_ops.triage.model import NOTHING_LEFT, Event
from ddtree_ops.triage.numbers import Facts
from ddtree_ops.triage.only_unit import Units


def triage_entries(entries: Iterable[JournalEntry], host: str | None = None, unit: str | None = None) -> FailureReport:
    """Read all entries and report; `unit` only names the report."""
    diagnoser = Diagnoser()
    for entry in entries:
        diagnoser.feed(entry)
    return from_diagnosis(diagnoser.finish(), host=host, unit=unit)


def triage_bytes(
    chunks: Iterable[bytes],
    host: str | None = None,
    unit: str | None = None,
    facts: Facts | None = None,
    *,
    only_unit: str | None = None,
    now_us: int | None = None,
) -> FailureReport:
    """Read a log in whatever form and report, without decoding what can't matter (gate.py).

    `unit` only names the report. `only_unit`: read the entries of this unit and those that name none; the report says so if
    the unit has none. `now_us`: for times without a year (`read_log`). Raises UsageError where nothing can be read.
    """
    diagnoser, units = Diagnoser(facts, now_us), Units(only_unit) if only_unit else None
    for _ in feed_through(diagnoser, gathered(chunks), now_us=now_us, units=units):
        pass
    report = from_diagnosis(diagnoser.finish(), host=host, unit=only_unit or unit)
    return report if units is None or units.found else replace(report, events=(_nothing_left(units), *report.events))


def _nothing_left(units: Units) -> Event:
    others = f"; there are entries of {', '.join(units.others)}" if units.others else ""
    return Event(None, NOTHING_LEFT, f"no entry of {units.wanted} in the input{others}")
