"""Reports on stdout: text for people, one JSON document for scripts."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ddtree_ops.report.deployment import Outcome
from ddtree_ops.triage.lines import clean

if TYPE_CHECKING:
    from ddtree_ops.fleet.plan import Plan
    from ddtree_ops.report.deployment import DeploymentReport
    from ddtree_ops.report.failure import FailureReport

_WORDS = {
    Outcome.DEPLOYED: ("green", "serves {release}"),
    Outcome.NOTHING_TO_DO: ("green", "nothing to do: serves {release}"),
    Outcome.WOULD_CHANGE: ("yellow", "would change to {release}"),
    Outcome.REFUSED: ("red", "refused, nothing changed"),
    Outcome.ROLLED_BACK: ("yellow", "{release} failed; {serving} serves again"),
    Outcome.FAILED: ("red", "failed"),
}


def show_json(document: Any) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def show_deployments(reports: Sequence[DeploymentReport], form: str) -> None:
    """The end of a deploy or rollback of one or several hosts."""
    if form == "json":
        show_json({"schema": "ddtree-ops/deployments/v1", "hosts": [report.to_json() for report in reports]})
        return
    for report in reports:
        for line in deployment_lines(report):
            click.echo(line)


def deployment_lines(report: DeploymentReport) -> Iterator[str]:
    """Failure first (the longest), verdict last: people read the tail."""
    if report.failure is not None:
        yield failure_text(report.failure)
    colour, words = _WORDS[report.outcome]
    if report.error:
        yield f"{click.style('error:', fg='red', bold=True)} {clean(report.error)}"
    for line in report.evidence:
        yield f"  {clean(line)}"
    if report.hint:
        yield f"{click.style('fix:', fg='green')} {clean(report.hint)}"
    verdict = words.format(release=report.release, serving=report.serving)
    if report.outcome is Outcome.FAILED:
        verdict = f"failed; {report.serving} serves" if report.serving else "failed; nothing serves"
    yield f"{click.style(report.host, bold=True)}  {click.style(verdict, fg=colour)}  ({report.seconds:.1f} s)"


def failure_text(failure: FailureReport) -> str:
    """The failure as a person reads it in ten seconds."""
    width = shutil.get_terminal_size((100, 24)).columns
    return failure.to_terminal(colour=sys.stdout.isatty() and not _no_colour(), width=width)


def plan_lines(plan: Plan) -> Iterator[str]:
    """Findings and changes."""
    for finding in plan.findings:
        yield f"  {finding.severity.value}: {clean(finding.message)}  [{finding.id}]"
        yield f"    fix: {clean(finding.fix)}"
    for change in plan.changes:
        yield clean(f"  {change.what}: {_value(change.before)} -> {_value(change.after)}")


def _value(text: str | None) -> str:
    return "(none)" if text is None else text or "(set)"


def _no_colour() -> bool:
    import os

    return bool(os.environ.get("NO_COLOR"))
