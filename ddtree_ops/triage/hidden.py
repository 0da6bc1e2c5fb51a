"""Errors that a hang hides: printed, survived by their process, and the reason why the others wait."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_ops.triage.explain import HANGS, SECONDARY
from ddtree_ops.triage.groups import Group
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Finding
from ddtree_ops.triage.run import Run
from ddtree_ops.triage.signatures.hang_hidden_error import hidden
from ddtree_ops.triage.signatures.nccl_init_hang import of_silence

_BEFORE_US = 45 * 60 * 1_000_000  # NCCL's longest usual limit is 30 minutes
_OTHERS = (Kind.REQUEST_ERROR, Kind.BACKGROUND_TASK_ERROR, Kind.SHUTDOWN_NOISE)


def init_hang_of(run: Run) -> Finding | None:
    """For a start that was given up, by systemd or the launcher, while the ranks connected: what each rank wrote last tells."""
    stalled = run.last_words is not None and run.last_words.how == "stalled"
    if not (run.fate.start_timed_out or stalled) or run.fate.oom_killed:
        return None
    return of_silence(run.last_lines[pid].text for pid in run.ranks if pid in run.last_lines)


def with_hidden_errors(fatal: Sequence[Group], found: Sequence[Group], run: Run) -> list[Group]:
    """The fatal groups, with the latest error before a hang where nothing else explains the hang."""
    for group in fatal:
        if group.kind is Kind.SYSTEMD_START_TIMEOUT:
            group.finding = init_hang_of(run) or group.finding
    hang = next((group for group in fatal if group.kind in HANGS), None)
    if hang is None:
        return list(fatal)
    errors = [group for group in fatal if group.kind not in HANGS and group.kind not in SECONDARY]
    if not errors:
        errors = [group for group in found if group not in fatal and _may_hide(group, hang) and not run.lived_on(group.last)][-1:]
    for group in errors:
        if group.exceptions and _is_before(group, hang):
            group.finding = hidden(group.finding)
    return [*fatal, *(group for group in errors if group not in fatal)]


def _may_hide(group: Group, hang: Group) -> bool:
    return bool(group.exceptions) and group.kind not in _OTHERS and group.kind not in SECONDARY and _is_before(group, hang)


def _is_before(group: Group, hang: Group) -> bool:
    if group.first_us is None or hang.first_us is None:
        return group.line < hang.line
    return 0 <= hang.first_us - group.first_us <= _BEFORE_US
