"""Runs whose journal is gone but which the host kept (/var/lib/ddtree/crashes): the exporter was down when they crashed."""

from __future__ import annotations

from ddtree_ops.errors import HostCommandFailed, UsageError
from ddtree_ops.exporter.journal.news import News
from ddtree_ops.exporter.journal.state import State
from ddtree_ops.flows import crashes
from ddtree_ops.ports import Shell
from ddtree_ops.report.failure import FailureReport


def count_kept(shell: Shell, state: State, news: News) -> None:
    """Count the kept runs of the unit that no pass has seen. What this user may not read isn't there for it."""
    for crash in crashes.kept(shell):
        if crash.invocation == state.invocation or crash.invocation in state.ended:
            continue
        try:
            report = crashes.report(shell, crash)
        except (UsageError, HostCommandFailed):
            continue
        state.ended[crash.invocation] = None
        if report.unit == state.unit:
            _count(report, state, news)


def _count(report: FailureReport, state: State, news: News) -> None:
    """As a stretch of its own, beside the one that is open."""
    counts = state.counts
    open_one = counts.counted
    counts.open_anew()
    names = counts.take(report.failures, report.until_us or 0)
    counts.open_anew(open_one)
    if names:
        news.take(report, names)
