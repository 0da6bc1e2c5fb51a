"""Triage from a host: read its journal over SSH and diagnose it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ddtree_ops.errors import HostCommandFailed, UsageError
from ddtree_ops.flows import crashes
from ddtree_ops.flows.look import unit_state
from ddtree_ops.flows.server import Server
from ddtree_ops.flows.wait import Mark
from ddtree_ops.ports import Shell
from ddtree_ops.triage import journal
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import EARLIER_CRASHES, Event, Role
from ddtree_ops.triage.numbers import Facts

if TYPE_CHECKING:
    from ddtree_ops.report.failure import FailureReport


def since(server: Server, before: Mark) -> FailureReport | None:
    """What failed after the mark, the server or a request; None when neither did."""
    report = _read(server.shell, journal.read(server.unit, after_cursor=before.cursor, kernel=True), server.unit)
    return report if any(item.role in (Role.ROOT, Role.REQUEST) for item in report.failures) else None


def of_unit(shell: Shell, unit: str, since: str | None, facts: Facts | None = None) -> FailureReport:
    """The unit's latest run, or everything since a time that journalctl understands.

    Where the latest run shows no failure, or only that systemd starts it no more, the report says how many earlier ones
    the host keeps. Raises UsageError for a unit that the host doesn't have, or a time that journalctl doesn't take.
    """
    state = unit_state(shell, unit)
    began = state.run_began
    if since is None and state.invocation:
        argv = journal.read(unit, invocation=state.invocation, since=began or None, kernel=bool(began))
    else:
        argv = journal.read(unit, since=since, kernel=since is not None)
    try:
        report = _read(shell, argv, unit, facts)
    except HostCommandFailed as error:
        if since is None:
            raise
        raise UsageError(
            f"{shell.host}: journalctl doesn't take --since {since}", hint="-2h, '2026-11-29 18:00', @1795977363"
        ) from error
    if not (report.lines_read or state.exists):
        raise UsageError(
            f"{shell.host} has no unit {unit}, and its journal nothing of it", hint="systemctl list-units 'ddtree-server@*'"
        )
    told = report.root is not None and report.root.kind is not Kind.SYSTEMD_START_LIMIT
    return report if told else _with_earlier(report, crashes.kept(shell))


def of_invocation(shell: Shell, unit: str, invocation: str, facts: Facts | None = None) -> FailureReport:
    """One run: as the host keeps it, if it failed, else as the journal still has it. `invocation` of kept ones may be shortened.

    Raises UsageError if nothing is known of it.
    """
    kept = crashes.find(shell, invocation)
    if kept is not None:
        return crashes.report(shell, kept, facts)
    report = _read(shell, journal.read(unit, invocation=invocation), unit, facts)
    if not report.lines_read:
        hint = f"ddtree-ops triage --list --host {shell.host}"
        raise UsageError(f"{shell.host}: nothing is known of invocation {invocation} of {unit}", hint=hint)
    return report


def _with_earlier(report: FailureReport, kept: tuple[crashes.Crash, ...]) -> FailureReport:
    if not kept:
        return report
    newest = kept[-1]
    text = (
        f"the host keeps {len(kept)} earlier crashes, the newest of {newest.time}: ddtree-ops triage --list --host {report.host}"
    )
    return replace(report, events=(Event(None, EARLIER_CRASHES, text), *report.events))


def _read(shell: Shell, argv: tuple[str, ...], unit: str, facts: Facts | None = None) -> FailureReport:
    from ddtree_ops.report.entries import triage_bytes

    with shell.stream(argv) as stream:
        return triage_bytes(stream.chunks(), host=shell.host, unit=unit, facts=facts)
