"""Equal observations of one run as one: over ranks, over repeated prints, over the several ways to print one event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ddtree_ops.triage.block import UNNAMED, Device, Evidence, Origin, ParsedException, Thread
from ddtree_ops.triage.fingerprint import fingerprint
from ddtree_ops.triage.fold import fold, is_piece, labelled
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding, Process
from ddtree_ops.triage.run import Observation, Run
from ddtree_ops.triage.signatures import Context, match

_CLOSE_US = 30_000_000
_EVIDENCE_LIMIT = 12
_THREAD_LIMIT = 256
_SURENESS = tuple(Confidence)  # in order: the surest first
#: Said of the host or of the unit as a whole; what they see is seen once, whichever process it hits.
HOST_ORIGINS = frozenset({Origin.KERNEL, Origin.SYSTEMD, Origin.ANSIBLE, Origin.SSH, Origin.CONTAINER})
_REPORTERS = frozenset({Origin.KERNEL, Origin.SYSTEMD, Origin.CONTAINER})


@dataclass(slots=True)
class Group:
    """Equal observations. `also`: further ways in which the same event was printed."""

    name: str
    finding: Finding
    members: list[Observation] = field(default_factory=list)
    also: list[Observation] = field(default_factory=list)

    @property
    def first(self) -> Observation:
        """The one that came first."""
        return self.members[0]

    @property
    def last(self) -> Observation:
        """The one that came last."""
        return self.members[-1]

    @property
    def kind(self) -> Kind:
        """What it is."""
        return self.finding.kind

    @property
    def exceptions(self) -> tuple[ParsedException, ...]:
        """As it was printed first."""
        return self.first.block.exceptions

    @property
    def first_us(self) -> int | None:
        """When it was seen first, in whatever way."""
        return min((item.block.first_us for item in self._all() if item.block.first_us is not None), default=None)

    @property
    def last_us(self) -> int | None:
        """When it was seen last."""
        return max((item.block.last_us for item in self._all() if item.block.last_us is not None), default=None)

    @property
    def line(self) -> int:
        """The number of its first line: the order where times are missing or equal."""
        return min((item.line for seen in self._all() for item in seen.block.evidence if item.line is not None), default=0)

    @property
    def processes(self) -> tuple[Process, ...]:
        """All that it happened in; who only reports it (the kernel, PID 1) is none of them."""
        hit = (item.process for item in self.members if item.block.origin not in _REPORTERS or (item.process.pid or 0) > 1)
        return tuple(dict.fromkeys(hit))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The telling lines of the first print, then of the other ways."""
        lines = (item for seen in (self.first, *self.also) for item in seen.block.evidence)
        return tuple(dict.fromkeys(lines))[:_EVIDENCE_LIMIT]

    @property
    def threads(self) -> tuple[Thread, ...]:
        """Of the first crash that has any; where every rank's were dumped while it lived, of all of them."""
        dumped = [item for item in self._all() if item.block.threads]
        if not dumped or dumped[0].block.exceptions:
            return dumped[0].block.threads if dumped else ()
        if len(dumped) == 1:
            return dumped[0].block.threads
        return tuple(one for item in dumped for one in labelled(item.block.threads, item.process.rank))[:_THREAD_LIMIT]

    def devices(self, run: Run) -> tuple[Device, ...]:
        """Every rank names its own GPU."""
        named = [*self.finding.devices]
        for item in self._all()[:64]:
            named += [*item.block.devices, *recognise(item, run).devices]
        return tuple(dict.fromkeys(named))

    def _all(self) -> list[Observation]:
        return [*self.members, *self.also]


def groups(run: Run) -> list[Group]:
    """The run's observations in groups, in order of time."""
    found: dict[str, Group] = {}
    for item in fold(run.observations):
        finding = recognise(item, run)
        if finding.kind is Kind.UNKNOWN and is_piece(item.block):
            continue
        name = _name(item, finding)
        group = found.get(name)
        if group is None:
            group = found[name] = Group(name, finding)
        elif _SURENESS.index(finding.confidence) < _SURENESS.index(group.finding.confidence):
            group.finding = finding  # one rank may know more than the others
        group.members.append(item if item.finding else replace(item, finding=finding))
    return list(_without_doubles(list(found.values())))


def recognise(item: Observation, run: Run) -> Finding:
    """What an observation is, by the signatures."""
    finding = item.finding or match(Context(item.block, item.phase, run.facts, item.context))
    return finding or Finding(Kind.UNKNOWN, _title(item), None, (), Confidence.UNKNOWN)


def _title(item: Observation) -> str:
    ending = item.block.ending
    inside = [one for one in item.block.exceptions if one.parent is not None]
    if ending.type.endswith("ExceptionGroup") and len(inside) == 1:
        ending = inside[0]  # what it is about
    first = ending.message.strip().split("\n", 1)[0]
    if ending.type == UNNAMED and not ending.complete:
        where = f", in {ending.frames[-1].function}" if ending.frames else ""
        return f"The log breaks off inside a traceback{where}"[:200]
    if not ending.type:
        return (item.block.lines[0] if item.block.lines else item.block.origin.value)[:200]
    return (f"{ending.type}: {first}" if first else ending.type)[:200]


def _name(item: Observation, finding: Finding) -> str:
    if item.block.exceptions:
        return fingerprint(item.block.placed)
    return fingerprint((), f"{finding.kind}\n{finding.title}")


def _without_doubles(found: list[Group]) -> Iterator[Group]:
    """A known kind, or a cause without one, that a process, or somebody unnamed, tells twice in a moment is one event; the
    fullest print stays."""
    kept: list[Group] = []
    for group in found:
        double = next((other for other in kept if _is_double(other, group)), None)
        if double is None:
            kept.append(group)
        elif _tells_more(group, double):
            group.also = [*double.members, *double.also, *group.also]
            kept[kept.index(double)] = group
        else:
            double.also += [*group.members, *group.also]
    yield from kept


def _is_double(one: Group, other: Group) -> bool:
    if one.kind is not other.kind or (one.kind is Kind.UNKNOWN and not _same_cause(one, other)):
        return False
    if one.exceptions and other.exceptions and not _quotes(one, other):
        return False
    apart = abs((one.first_us or 0) - (other.first_us or 0)) if one.first_us and other.first_us else 0
    return apart <= _CLOSE_US and _same_process(one, other)


def _same_cause(one: Group, other: Group) -> bool:
    return one.finding.cause is not None and one.finding.cause == other.finding.cause


def _quotes(one: Group, other: Group) -> bool:
    """Different languages, one event: the C++ library's report and the interpreter's."""
    return one.exceptions[-1].language is not other.exceptions[-1].language


def _same_process(one: Group, other: Group) -> bool:
    if one.first.block.origin in HOST_ORIGINS or other.first.block.origin in HOST_ORIGINS:
        return True
    pids = [{item.pid for item in group.processes if item.pid is not None} for group in (one, other)]
    ranks = [{item.rank for item in group.processes if item.rank is not None} for group in (one, other)]
    if pids[0] and pids[1]:
        return bool(pids[0] & pids[1])
    return not (ranks[0] and ranks[1]) or bool({_digits(rank) for rank in ranks[0]} & {_digits(rank) for rank in ranks[1]})


def _digits(rank: str) -> str:
    """`rank5` and `TP5` are the same one in a log without process ids."""
    return "".join(filter(str.isdigit, rank))


def _tells_more(one: Group, other: Group) -> bool:
    sure = [group.finding.confidence is Confidence.CERTAIN for group in (one, other)]
    return (bool(one.exceptions), sure[0]) > (bool(other.exceptions), sure[1])
