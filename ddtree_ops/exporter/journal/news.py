"""What is told of a failure beside its count: the report's page and data, and cause and fix in our own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.journal import words as journal_words
from ddtree_ops.exporter.journal.discretion import discreet, discreet_events
from ddtree_ops.exporter.journal.reports import MOST_BYTES, forget_others, report_name
from ddtree_ops.exporter.journal.state import State
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.triage.model import Diagnosis


class News:
    """Takes judgements with news; `write` puts the reports of the newest fingerprints into files, and removes the others'."""

    def __init__(self, state: State, host: str, folder: Path) -> None:
        self._state, self._host, self._folder = state, host, folder
        self._waiting: dict[str, FailureReport] = {}

    def take(self, judged: Diagnosis | FailureReport, names: Sequence[str]) -> None:
        """News of these fingerprints."""
        report = self._report(judged)
        newest = self._state.counts.newest
        for item in judged.failures:
            known = newest.get(item.fingerprint)
            if item.fingerprint in names and known is not None and known.role is item.role:
                cause, fix = journal_words.cause(item), journal_words.fix(item)
                newest[item.fingerprint] = replace(known, cause=cause, fix=fix)
                self._waiting[item.fingerprint] = report
        for name in [name for name in self._waiting if name not in newest]:
            del self._waiting[name]

    def write(self) -> None:
        """Call it before the state is written: a page without its count does no harm. Raises OSError."""
        self._folder.mkdir(mode=0o750, parents=True, exist_ok=True)
        for name, report in self._waiting.items():
            for kind, data in (("json", report.to_json().encode()), ("html", report.to_html().encode())):
                if len(data) <= MOST_BYTES:
                    state_file.replace(self._folder / report_name(name, kind), data)
        self._waiting.clear()
        forget_others(self._folder, self._state.counts.newest)

    def _report(self, judged: Diagnosis | FailureReport) -> FailureReport:
        return FailureReport(
            host=self._host,
            unit=self._state.unit,
            invocation=judged.invocation,
            since_us=judged.since_us,
            until_us=judged.until_us,
            lines_read=judged.lines_read,
            verdict=judged.verdict,
            failures=tuple(map(discreet, judged.failures)),
            events=discreet_events(judged.events),
        )
