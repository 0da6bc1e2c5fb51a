"""From what a run showed to failures in order: the root first, then its consequences, failed requests, noise."""

from __future__ import annotations

from dataclasses import replace

from ddtree_ops.triage.belonging import is_of_before, is_weak, of_others
from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.deaths import unexplained_death, words_tell
from ddtree_ops.triage.explain import HANGS, SECONDARY, explains, is_lost_child, quotes
from ddtree_ops.triage.groups import HOST_ORIGINS, Group, groups
from ddtree_ops.triage.hidden import with_hidden_errors
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Failure, FailurePhase, Role
from ddtree_ops.triage.run import Run

#: A line that says that it is over, an abort, a fatal signal: also where nobody else says that something died.
_ENDS_BY_NATURE = (Origin.LINE, Origin.TERMINATE, Origin.THREADS)
_STOPPING_LOOKS_LIKE = (Kind.UNKNOWN, Kind.PEER_RANK_FAILED, Kind.ENGINE_DEAD_SECONDARY)
_LIVES_ON = (Kind.REQUEST_ERROR, Kind.BACKGROUND_TASK_ERROR, Kind.SHUTDOWN_NOISE)


def judge(run: Run) -> list[Failure]:
    """The failures of a run that was read to its end."""
    found = groups(run)
    fatal = [group for group in found if _is_fatal(group, run)]
    fatal = [group for group in fatal if not is_weak(group)] or fatal
    excerpt = not run.shows_life and run.phase is FailurePhase.UNKNOWN  # nothing but the failure is there to judge by
    if not fatal and (run.fate.died or excerpt) and not words_tell(run):
        fatal = [group for group in found if _may_be_why(group, run)][-1:]
    fatal = with_hidden_errors(fatal, found, run)
    failures = _ranked(sorted(fatal, key=lambda group: (group.first_us or 0, group.line)), run)
    failures += [_failure(group, run, _minor_role(group)) for group in found if group not in fatal]
    return sorted(failures, key=lambda failure: failure.order)


def _ranked(fatal: list[Group], run: Run) -> list[Failure]:
    """Root and consequences of what was fatal, in order of time."""
    root = _root(fatal)
    if root is None:
        death = unexplained_death(run, lost_peers=bool(fatal))
        if death is None:
            return [_failure(group, run, Role.CONSEQUENCE if group is not fatal[0] else Role.ROOT) for group in fatal]
        shown = [group for group in fatal if is_lost_child(group)][:1]
        rest = [_failure(group, run, Role.CONSEQUENCE) for group in fatal if group not in shown]
        return [_told_by(death, shown[0], run) if shown else death, *rest]
    told = [group for group in fatal if group is not root and group.kind is Kind.UNKNOWN and explains(root, group)]
    first = _failure(root, run, Role.ROOT)
    if told and not root.exceptions:
        first = _told_by(first, told[0], run)
    else:
        told = []
    return [first, *(_failure(group, run, Role.CONSEQUENCE) for group in fatal if group is not root and group not in told)]


def _root(fatal: list[Group]) -> Group | None:
    """The first that isn't somebody else's failure; a fault of the host before all that it explains."""
    primary = [group for group in fatal if group.kind not in SECONDARY and not is_lost_child(group)]
    primary.sort(key=lambda group: group.kind in HANGS)  # stable: an error of its own before a hang
    if not primary:
        return None
    first = next((other for other in primary if quotes(primary[0], other)), primary[0])
    return next((other for other in fatal if explains(other, first)), first)


def _is_fatal(group: Group, run: Run) -> bool:
    """SGLang's "... hit an exception" ends the server; a bare traceback ends its process if that never speaks again."""
    if group.kind in _LIVES_ON or _after_stop(group, run):
        return False
    block = group.first.block
    if block.origin in HOST_ORIGINS:
        return not (run.lived_on(group.last) or of_others(block, run) or is_of_before(block, run))
    if block.origin is Origin.THREADS and not block.exceptions:
        return group.kind is not Kind.UNKNOWN  # a dump for looking at, of a process that lives
    if block.origin in _ENDS_BY_NATURE:
        return not run.lived_on(group.last)
    if not block.exceptions or (block.record and block.header.endswith("hit an exception")):
        return True
    if block.record or run.serving:
        return run.fate.died and _is_last_word(group, run)
    return _is_last_word(group, run)


def _may_be_why(group: Group, run: Run) -> bool:
    """Of a run that died and left nothing that plainly ended it."""
    block = group.first.block
    return group.kind not in _LIVES_ON and not (
        _after_stop(group, run) or run.lived_on(group.last) or of_others(block, run) or is_of_before(block, run)
    )


def _is_last_word(group: Group, run: Run) -> bool:
    last = group.last
    pid = last.process.pid
    spoken = run.last_lines.get(pid)
    if spoken is None or pid is None:
        return run.fate.died or not run.lived_on(last)
    spoken_us = spoken.entry.realtime_us
    return spoken_us is None or last.block.last_us is None or spoken_us <= last.block.last_us


def _after_stop(group: Group, run: Run) -> bool:
    """Whether it was seen while the server stopped as it was asked to. What systemd says of the stop itself is no noise."""
    if group.first.block.origin is Origin.SYSTEMD:
        return False
    first, stopped = group.first.block.first_us, run.fate.stopped_us
    if first is None or stopped is None:
        return run.fate.graceful and group.line >= (run.fate.stopped_line or 0)
    return run.fate.graceful and first >= stopped


def _minor_role(group: Group) -> Role:
    return Role.REQUEST if group.kind is Kind.REQUEST_ERROR else Role.NOISE


def _failure(group: Group, run: Run, role: Role) -> Failure:
    finding, first = group.finding, group.first
    if role is Role.NOISE and finding.kind in _STOPPING_LOOKS_LIKE and _after_stop(group, run):
        finding = replace(finding, kind=Kind.SHUTDOWN_NOISE)
    return Failure(
        fingerprint=group.name,
        kind=finding.kind,
        title=finding.title,
        role=role,
        phase=_phase(group),
        first_us=group.first_us,
        last_us=group.last_us,
        count=sum(item.block.times for item in group.members),
        processes=group.processes,
        exceptions=group.exceptions,
        numbers=finding.numbers,
        evidence=group.evidence,
        cause=finding.cause,
        fixes=finding.fixes,
        confidence=finding.confidence,
        devices=group.devices(run),
        threads=group.threads,
        context=first.context,
    )


def _phase(group: Group) -> FailurePhase:
    first = group.first
    if first.block.origin in (Origin.ANSIBLE, Origin.SSH):
        return FailurePhase.DEPLOY
    if group.kind is Kind.UNKNOWN_ARGUMENT and first.phase is FailurePhase.UNKNOWN:
        return FailurePhase.ARGUMENTS  # argparse ends the server before it says anything else
    return first.phase


def _told_by(failure: Failure, group: Group, run: Run) -> Failure:
    """A failure that left no exception of its own, with that of the process which noticed it."""
    seen = _failure(group, run, Role.ROOT)
    return replace(
        failure,
        fingerprint=seen.fingerprint,
        exceptions=seen.exceptions,
        evidence=tuple(dict.fromkeys((*failure.evidence, *seen.evidence))),
        context=seen.context,
        processes=failure.processes or seen.processes,
    )
