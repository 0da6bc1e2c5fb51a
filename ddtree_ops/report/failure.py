"""The failure report: what triage found, with where it was read, as JSON, Markdown and terminal text.

The JSON follows `failure-report.schema.json` beside this file; everything in it is cleaned of control characters.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ddtree_ops.report.as_data import event_data, failure_data
from ddtree_ops.report.as_markdown import failure_markdown, report_heading
from ddtree_ops.report.as_terminal import TerminalText
from ddtree_ops.report.safe_text import markdown, one_line, rfc3339
from ddtree_ops.report.wording import notes
from ddtree_ops.triage.model import Diagnosis, Event, Failure, Role, Verdict

SCHEMA_NAME = "ddtree-ops/failure-report/v1"


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

    def to_data(self) -> dict[str, Any]:
        """The report as the schema's object."""
        return {
            "schema": SCHEMA_NAME,
            "host": self.host and one_line(self.host),
            "unit": self.unit and one_line(self.unit),
            "invocation": self.invocation and one_line(self.invocation),
            "since": rfc3339(self.since_us),
            "until": rfc3339(self.until_us),
            "lines_read": self.lines_read,
            "verdict": self.verdict.value,
            "failures": [failure_data(item) for item in self.failures],
            "events": [event_data(item) for item in self.events],
        }

    def to_json(self, *, indent: int | None = 1) -> str:
        """The report as one JSON document, ASCII only."""
        return json.dumps(self.to_data(), indent=indent)

    def to_markdown(self) -> str:
        """The report as Markdown, for an issue or a chat."""
        parts = [report_heading(self.verdict, self.host, self.unit, self.lines_read)]
        parts += [f"**Note**: {markdown(item)}" for item in notes(self.events)]
        parts += [failure_markdown(item) for item in self.failures]
        return "\n\n".join(parts) + "\n"

    def to_terminal(self, *, colour: bool, width: int = 100) -> str:
        """What a person reads in ten seconds: the rest first, the root last, where the eye is after it has scrolled."""
        text = TerminalText(colour=colour, width=max(40, width))
        return text.report(self.verdict, self.host, self.unit, self.lines_read, self.failures, notes(self.events))


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
