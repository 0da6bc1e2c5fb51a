"""Triage of a run that ended: read its journal from the host and diagnose it."""

from __future__ import annotations

from ddtree_ops.flows.wait import Mark, Server
from ddtree_ops.report.failure import FailureReport, from_diagnosis
from ddtree_ops.triage import journal
from ddtree_ops.triage.diagnose import Diagnoser


def since(server: Server, before: Mark) -> FailureReport | None:
    """What happened after the mark; None when nothing failed."""
    argv = tuple(word for word in journal.follow(server.unit, before.cursor) if word != "--follow")
    return _report(server, argv)


def invocation(server: Server, invocation_id: str) -> FailureReport | None:
    """What happened in one run of the unit; None when nothing failed."""
    return _report(server, journal.read(server.unit, invocation=invocation_id))


def _report(server: Server, argv: tuple[str, ...]) -> FailureReport | None:
    diagnoser = Diagnoser()
    with server.shell.stream(argv) as stream:
        for entry in journal.read_export(stream.chunks()):
            diagnoser.feed(entry)
    report = from_diagnosis(diagnoser.finish(), host=server.shell.host, unit=server.unit)
    return report if report.failures else None
