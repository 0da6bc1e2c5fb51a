"""From what a run showed to failures in order: the root first, then its consequences, failed requests, noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ddtree_ops.triage.block import Device
from ddtree_ops.triage.deaths import unexplained_death, words_tell
from ddtree_ops.triage.fingerprint import fingerprint
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Failure, Finding, Role
from ddtree_ops.triage.run import Observation, Run
from ddtree_ops.triage.signatures import Context, match

_ORDER = {Role.ROOT: 0, Role.CONSEQUENCE: 1, Role.REQUEST: 2, Role.NOISE: 3}
_LIVES_ON = (Kind.REQUEST_ERROR, Kind.BACKGROUND_TASK_ERROR)


@dataclass(slots=True)
class _Group:
    """Equal observations of one run."""

    fingerprint: str
    finding: Finding
    members: list[Observation] = field(default_factory=list)

    @property
    def first(self) -> Observation:
        return self.members[0]


def judge(run: Run) -> list[Failure]:
    """The failures of a run that was read to its end."""
    groups = _groups(run)
    fatal = [group for group in groups if _is_fatal(group, run)]
    if not fatal and run.died and not words_tell(run):
        fatal = [group for group in groups if group.finding.kind not in _LIVES_ON and not _after_stop(group, run)][-1:]
    roots = [group for group in fatal if group.finding.kind is not Kind.PEER_RANK_FAILED]
    if roots:
        failures = [_failure(group, run, Role.ROOT if group is roots[0] else Role.CONSEQUENCE) for group in fatal]
    else:
        failures = list(_without_root(fatal, run))
    failures += [_failure(group, run, _minor_role(group)) for group in groups if group not in fatal]
    return sorted(failures, key=lambda failure: _ORDER[failure.role])


def _without_root(fatal: list[_Group], run: Run) -> Iterator[Failure]:
    """Only ranks that lost a peer, or nothing at all: the one that is silent, or the manager's word, is the root."""
    death = unexplained_death(run, lost_peers=bool(fatal))
    if death:
        yield death
    for group in fatal:
        yield _failure(group, run, Role.CONSEQUENCE if death or group is not fatal[0] else Role.ROOT)


def _groups(run: Run) -> list[_Group]:
    found: dict[str, _Group] = {}
    for item in run.observations:
        name = _name(item)
        group = found.get(name)
        if group is None:
            group = found[name] = _Group(name, _recognise(item, run))
        group.members.append(item)
    return list(found.values())


def _name(item: Observation) -> str:
    if item.block.exceptions:
        return fingerprint(item.block.exceptions)
    return fingerprint((), f"{item.finding.kind}\n{item.finding.title}" if item.finding else item.block.origin)


def _recognise(item: Observation, run: Run) -> Finding:
    finding = item.finding or match(Context(item.block, item.phase, run.facts))
    if finding:
        return finding
    ending = item.block.ending
    first = ending.message.strip().split("\n", 1)[0]
    title = f"{ending.type}: {first}" if first else ending.type
    return Finding(Kind.UNKNOWN, title[:200], None, (), Confidence.UNKNOWN)


def _is_fatal(group: _Group, run: Run) -> bool:
    """SGLang's "... hit an exception" ends the server; a bare traceback ends its process if that never speaks again."""
    if group.finding.kind in _LIVES_ON or _after_stop(group, run):
        return False
    block = group.first.block
    if not block.exceptions or (block.record and block.header.endswith("hit an exception")):
        return True
    if block.record or run.serving:
        return run.died and _is_last_word(group, run)
    return _is_last_word(group, run)


def _is_last_word(group: _Group, run: Run) -> bool:
    last = group.members[-1]
    spoken = run.last_lines.get(last.process.pid)
    if spoken is None or last.process.pid is None:
        return True
    spoken_us = spoken.entry.realtime_us
    return spoken_us is None or last.block.last_us is None or spoken_us <= last.block.last_us


def _after_stop(group: _Group, run: Run) -> bool:
    first = group.first.block.first_us
    return run.graceful and (run.stopped_us is None or first is None or first >= run.stopped_us)


def _minor_role(group: _Group) -> Role:
    return Role.REQUEST if group.finding.kind is Kind.REQUEST_ERROR else Role.NOISE


def _failure(group: _Group, run: Run, role: Role) -> Failure:
    finding, first = group.finding, group.first
    if role is Role.NOISE and finding.kind is Kind.UNKNOWN and _after_stop(group, run):
        finding = replace(finding, kind=Kind.SHUTDOWN_NOISE)
    processes = tuple(dict.fromkeys(item.process for item in group.members))
    return Failure(
        fingerprint=group.fingerprint,
        kind=finding.kind,
        title=finding.title,
        role=role,
        phase=first.phase,
        first_us=first.block.first_us,
        last_us=group.members[-1].block.last_us,
        count=len(group.members),
        processes=processes,
        exceptions=first.block.exceptions,
        numbers=finding.numbers,
        evidence=first.block.evidence,
        cause=finding.cause,
        fixes=finding.fixes,
        confidence=finding.confidence,
        devices=_devices(group, run),
        threads=first.block.threads,
    )


def _devices(group: _Group, run: Run) -> tuple[Device, ...]:
    """Every rank names its own GPU."""
    named = [_recognise(item, run) for item in group.members[:64]]
    return tuple(dict.fromkeys(device for finding in named for device in finding.devices))
