"""Triage from a host: read its journal over SSH and diagnose it."""

from __future__ import annotations

from ddtree_ops.flows.look import unit_state
from ddtree_ops.flows.wait import Mark, Server
from ddtree_ops.ports import Shell
from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.triage import journal


def since(server: Server, before: Mark) -> FailureReport | None:
    """What happened after the mark; None when nothing failed."""
    report = _read(server.shell, journal.read(server.unit, after_cursor=before.cursor), server.unit)
    return report if report.failures else None


def of_unit(shell: Shell, unit: str, since: str | None) -> FailureReport:
    """The unit's latest run, or everything since a time that journalctl understands."""
    invocation = None if since else unit_state(shell, unit).invocation or None
    return _read(shell, journal.read(unit, invocation=invocation, since=since), unit)


def _read(shell: Shell, argv: tuple[str, ...], unit: str) -> FailureReport:
    with shell.stream(argv) as stream:
        return triage_entries(journal.read_export(stream.chunks()), host=shell.host, unit=unit)
