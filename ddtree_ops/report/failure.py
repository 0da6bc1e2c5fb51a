"""The failure report: what triage found, with where it was read, as JSON, HTML, Markdown and terminal text.

The JSON follows `failure-report.schema.json` beside this file. Every form is made of clean texts (`cleaning`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from ddtree_ops.report.as_data import event_data, failure_data
from ddtree_ops.report.as_markdown import report_markdown
from ddtree_ops.report.as_terminal import report_lines
from ddtree_ops.report.cleaning import clean_event, clean_failure
from ddtree_ops.report.safe_text import one_line, rfc3339
from ddtree_ops.report.terminal_page import Page
from ddtree_ops.report.timeline import Timeline, timeline
from ddtree_ops.report.wording import notes, verdict_line
from ddtree_ops.triage.model import Diagnosis, Event, Failure, Role, Verdict
from ddtree_ops.triage.source_windows import Check, Read, with_source

SCHEMA_NAME = "ddtree-ops/failure-report/v1"
_NARROWEST = 40


@dataclass(frozen=True, slots=True)
class FailureReport:
    """One report. Times are microseconds since the epoch; `failures`: root first, then consequences, requests, noise."""

    host: str | None
    unit: str | None
    invocation: str | None
    since_us: int | None
    until_us: int | None
    lines_read: int
    verdict: Verdict
    failures: tuple[Failure, ...]
    events: tuple[Event, ...]

    @property
    def root(self) -> Failure | None:
        """The root failure, or None."""
        return next((item for item in self.failures if item.role is Role.ROOT), None)

    def cleaned(self) -> FailureReport:
        """The report with texts that may be shown: no control or invisible characters, no credentials."""
        return replace(
            self,
            host=self.host and one_line(self.host),
            unit=self.unit and one_line(self.unit),
            invocation=self.invocation and one_line(self.invocation),
            failures=tuple(clean_failure(item) for item in self.failures),
            events=tuple(clean_event(item) for item in self.events),
        )

    def timeline(self) -> Timeline | None:
        """The root failure's run in seconds; None where the log has no times."""
        return timeline(self.events, self.failures, self.since_us, self.until_us)

    def with_source(self, read: Read, check: Check | None = None) -> FailureReport:
        """With the installed lines around the root's own frames: see `triage.source_windows.with_source`."""
        failures: list[Failure] = []
        told: list[Event] = []
        for item in self.failures:
            shown, events = with_source(item, read, check) if item is self.root else (item, ())
            failures.append(shown)
            told += events
        return replace(self, failures=tuple(failures), events=(*told, *self.events))

    def to_data(self) -> dict[str, Any]:
        """The report as the schema's object."""
        shown = self.cleaned()
        return {
            "schema": SCHEMA_NAME,
            "host": shown.host,
            "unit": shown.unit,
            "invocation": shown.invocation,
            "since": rfc3339(self.since_us),
            "until": rfc3339(self.until_us),
            "lines_read": self.lines_read,
            "verdict": self.verdict.value,
            "failures": [failure_data(item) for item in shown.failures],
            "events": [event_data(item) for item in shown.events],
        }

    def to_json(self, *, indent: int | None = 1) -> str:
        """The report as one JSON document, ASCII only."""
        return json.dumps(self.to_data(), indent=indent)

    def to_markdown(self) -> str:
        """The report as Markdown, for an issue or a chat."""
        shown = self.cleaned()
        heading = verdict_line(shown.verdict, shown.host, shown.unit, shown.lines_read)
        return report_markdown(heading, notes(shown.events), shown.failures, shown.timeline())

    def to_html(self, *, release: str | None = None) -> str:
        """The report as one page that needs nothing else: no script, no outside resource. `release`: what ran, if known."""
        from ddtree_ops.report.as_html import report_html  # noqa: PLC0415  # jinja2 takes 40 ms to import

        return report_html(self.cleaned(), release and one_line(release))

    def to_terminal(self, *, colour: bool, width: int = 100) -> str:
        """What a person reads in ten seconds: the rest first, the root last, where the eye is after it has scrolled."""
        shown = self.cleaned()
        page = Page(colour=colour, width=max(_NARROWEST, width))
        sentence = verdict_line(shown.verdict, shown.host, shown.unit, shown.lines_read)
        lines = report_lines(page, (shown.verdict, sentence), notes(shown.events), shown.failures, shown.timeline())
        return "\n".join(lines) + "\n"

    @classmethod
    def from_data(cls, data: Mapping[str, Any], name: str = "report") -> FailureReport:
        """A stored report read back. Raises InvalidReport with `name` and the field that isn't as the schema has it."""
        from ddtree_ops.report.from_data import read_report  # noqa: PLC0415  # pydantic takes 40 ms to import

        return cls(**read_report(data, name))


def from_diagnosis(diagnosis: Diagnosis, *, host: str | None, unit: str | None = None) -> FailureReport:
    """The report of a diagnosis; the unit that the log names, unless the caller knows better."""
    return FailureReport(
        host=host,
        unit=unit or diagnosis.unit,
        invocation=diagnosis.invocation,
        since_us=diagnosis.since_us,
        until_us=diagnosis.until_us,
        lines_read=diagnosis.lines_read,
        verdict=diagnosis.verdict,
        failures=diagnosis.failures,
        events=diagnosis.events,
    )


def schema() -> dict[str, Any]:
    """The JSON schema of the report."""
    text = resources.files("ddtree_ops.report").joinpath("failure-report.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
