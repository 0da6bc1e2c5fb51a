"""Reports on stdout: text for people, one JSON document for scripts."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

from ddtree_ops.cli.closed_pipe import reader_may_leave
from ddtree_ops.cli.terminal import colour_wanted
from ddtree_ops.report.deployment import Outcome
from ddtree_ops.report.safe_text import block, one_line

if TYPE_CHECKING:
    from ddtree_ops.errors import DdtreeOpsError
    from ddtree_ops.flows.crashes import Crash
    from ddtree_ops.flows.server import Server
    from ddtree_ops.report.deployment import DeploymentReport
    from ddtree_ops.report.failure import FailureReport

_WORDS = {
    Outcome.DEPLOYED: ("green", "serves {release}"),
    Outcome.NOTHING_TO_DO: ("green", "nothing to do: serves {release}"),
    Outcome.WOULD_CHANGE: ("yellow", "would change to {release}"),
    Outcome.REFUSED: ("red", "refused, nothing changed"),
    Outcome.ROLLED_BACK: ("yellow", "{release} failed; {serving} serves again"),
    Outcome.FAILED: ("red", "failed"),
    Outcome.NOT_BEGUN: ("yellow", "not begun"),
    Outcome.INTERRUPTED: ("yellow", "interrupted"),
}


def show_json(document: Any) -> None:
    """ASCII only: a lone surrogate, which JSON may hold, has no other form, and no terminal's encoding matters."""
    click.echo(json.dumps(document, indent=2))


def show_deployments(reports: Sequence[DeploymentReport], form: str) -> None:
    """The end of a deploy or rollback of one or several hosts. A reader that has left changes nothing of how it went."""
    with reader_may_leave():
        if form == "json":
            show_json({"schema": "ddtree-ops/deployments/v1", "hosts": [report.to_json() for report in reports]})
            return
        for report in reports:
            for line in deployment_lines(report):
                click.echo(line)


def show_interrupted(server: Server, verb: str, form: str) -> int:
    """The end of a start, stop or restart that a person stopped; 130."""
    from ddtree_ops.flows.interrupted import verb_interrupted

    report = verb_interrupted(server, verb)
    show_deployments([report], form)
    return report.exit_code


def show_unfinished(server: Server, form: str) -> None:
    """After a start or restart: a deploy that waits for its commit is told of; not in a script's document."""
    from ddtree_ops.flows.interrupted import unfinished

    if told := unfinished(server):
        click.echo(f"{click.style('note:', fg='yellow')} {one_line(told)}", err=form == "json")


def deployment_lines(report: DeploymentReport) -> Iterator[str]:
    """Failure first (the longest), verdict last: people read the tail."""
    if report.failure is not None:
        yield failure_text(report.failure)
    colour, words = verdict(report)
    if report.error:
        yield f"{click.style('error:', fg='red', bold=True)} {one_line(report.error)}"
    for line in report.evidence:
        yield indent(block(line), "  ")
    if report.hint:
        yield f"{click.style('fix:', fg='green')} {one_line(report.hint)}"
    yield f"{click.style(report.host, bold=True)}  {click.style(words, fg=colour)}  ({report.seconds:.1f} s)"


def verdict(report: DeploymentReport) -> tuple[str, str]:
    """A colour, and how it ended in a few words."""
    colour, words = _WORDS[report.outcome]
    if report.outcome in (Outcome.FAILED, Outcome.INTERRUPTED):
        return colour, f"{words}; {_serving(report)}"
    if report.outcome is Outcome.NOT_BEGUN:
        return colour, f"{words}: {one_line(report.reason or '')}"
    return colour, words.format(release=report.release, serving=report.serving)


def _serving(report: DeploymentReport) -> str:
    if not report.serving_known:
        return "what serves is not known"
    return f"{report.serving} serves" if report.serving else "nothing serves"


def error_line(host: str, error: DdtreeOpsError) -> str:
    """A host that can't be read, among others that can."""
    fix = f"; {error.hint}" if error.hint else ""
    return f"{click.style(host, bold=True)}  {click.style('error:', fg='red')} {one_line(error.message + fix)}"


def failure_text(failure: FailureReport) -> str:
    """The failure as a person reads it in ten seconds."""
    width = shutil.get_terminal_size((100, 24)).columns
    return failure.to_terminal(colour=sys.stdout.isatty() and colour_wanted(), width=width)


def crash_lines(rows: Sequence[tuple[Crash, FailureReport | None]], host: str) -> Iterator[str]:
    """The crashes that a host keeps, newest last."""
    from ddtree_ops.flows.crashes import DIRECTORY
    from ddtree_ops.report.wording import notes

    if not rows:
        yield f"{host} keeps no crash"
        return
    for crash, report in rows:
        if report is None or (report.root is None and notes(report.events)):
            yield f"{crash.time}  {crash.invocation[:12]}  damaged: {DIRECTORY}/{crash.name}"
            continue
        root = report.root
        told = f"{click.style(root.kind.value, fg='red')}  {one_line(root.title, 90)}" if root else report.verdict.value
        yield f"{crash.time}  {crash.invocation[:12]}  {told}"
    whole = [crash for crash, report in rows if report is not None and report.root]
    if whole:
        yield f"one of them: ddtree-ops triage --host {host} --invocation {whole[-1].invocation[:12]}"


def show_failure(report: FailureReport, form: str) -> int:
    """Print a failure report; the exit code that says what it found: 0 nothing, 4 a failure, 10 nothing to judge by."""
    from ddtree_ops.triage.model import Verdict

    if form == "json":
        click.echo(report.to_json())
    elif form == "markdown":
        click.echo(report.to_markdown(), nl=False)
    elif form == "html":
        click.echo(report.to_html(), nl=False)
    else:
        click.echo(failure_text(report))
    return {Verdict.FAILURE: 4, Verdict.INCONCLUSIVE: 10}.get(report.verdict, 0)
