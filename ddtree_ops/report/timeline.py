"""The root failure's run as a timeline: phases, then what happened, in seconds from the run's beginning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.report.wording import phase_words, ranks
from ddtree_ops.triage.events import Sign
from ddtree_ops.triage.model import Event, Failure, Role

PHASE = "phase"
SERVER = "server"
_DRAFT = "draft_"
_STARTING = "starting"
_LANES = 17  # the server's, and 16 ranks
#: Events that say nothing of what happened: SGLang looking for a debugger, a library's complaint at the end.
_QUIET = (Sign.DIAGNOSTICS, Sign.SHUTDOWN_WARNING)
_SAME = 1_000_000  # microseconds in which a repeated sign is one


class Tone(StrEnum):
    """What a moment is, for its colour."""

    SIGN = "sign"
    ROOT = "root"
    CONSEQUENCE = "consequence"
    REQUEST = "request"
    NOISE = "noise"


@dataclass(frozen=True, slots=True)
class Span:
    """A phase from `begin` to `end`, seconds."""

    name: str
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened at a second, in a lane (`server`, or a rank)."""

    at: float
    tone: Tone
    lane: str
    text: str

    @property
    def weight(self) -> int:
        """For what is drawn over what: the root above all."""
        return (Tone.SIGN, Tone.NOISE, Tone.REQUEST, Tone.CONSEQUENCE, Tone.ROOT).index(self.tone)


@dataclass(frozen=True, slots=True)
class Timeline:
    """One run. `start_us` is its second 0, `length` its seconds; `moments` in order of time."""

    start_us: int
    length: float
    phases: tuple[Span, ...]
    moments: tuple[Moment, ...]
    lanes: tuple[str, ...]


def timeline(events: Iterable[Event], failures: Iterable[Failure], since_us: int | None, until_us: int | None) -> Timeline | None:
    """The run that the first failure is of, or the last run; None where the log has no times."""
    timed = sorted((item for item in events if item.time_us is not None), key=_time)
    found = [item for item in failures if item.first_us is not None]
    root_us = next((item.first_us for item in found if item.role is Role.ROOT), None)
    begin, end = _bounds(timed, root_us, since_us, until_us)
    if begin is None or end is None or end <= begin:
        return None
    inside = [item for item in timed if begin <= _time(item) <= end]
    failed = [item for item in found if begin <= (item.first_us or 0) <= end]
    moments = sorted((*_signs(inside, begin), *_failed(failed, begin)), key=lambda item: item.at)
    lanes = tuple(dict.fromkeys((SERVER, *(item.lane for item in moments))))[:_LANES]
    phases = _phases(inside, begin, _end_of_phases(failed, inside, end))
    return Timeline(begin, (end - begin) / 1e6, phases, tuple(moments), lanes)


def merged_draft(phases: Iterable[Span]) -> list[Span]:
    """The phases with the draft model's own start as one of them."""
    found: list[Span] = []
    for span in phases:
        name = "draft_model" if span.name.startswith(_DRAFT) else span.name
        if found and found[-1].name == name:
            found[-1] = Span(name, found[-1].begin, span.end)
        else:
            found.append(Span(name, span.begin, span.end))
    return [Span(phase_words(span.name), span.begin, span.end) for span in found]


def joined(moments: Iterable[Moment]) -> list[tuple[Moment, list[str]]]:
    """Each moment once, with the lanes it is in: a failure of several ranks is one."""
    found: dict[tuple[float, str, Tone], list[Moment]] = {}
    for moment in moments:
        found.setdefault((moment.at, moment.text, moment.tone), []).append(moment)
    return [(members[0], [item.lane for item in members]) for members in found.values()]


def _time(event: Event) -> int:
    return event.time_us or 0


def _bounds(
    events: list[Event], root_us: int | None, since_us: int | None, until_us: int | None
) -> tuple[int | None, int | None]:
    """From the run's start to the next one's. Without starts in the log: all of it."""
    starts = _starts(events)
    at = root_us if root_us is not None else max(starts, default=0)
    begin = max((start for start in starts if start <= at), default=since_us)
    following = min((start for start in starts if start > at), default=None)
    if following is not None:
        return begin, following - 1
    known = (*(_time(item) for item in events[-1:]), until_us, root_us)
    return begin, max((item for item in known if item is not None), default=None)


def _starts(events: list[Event]) -> list[int]:
    """Times of starts; "Starting" and "Started" with nothing but phases between them are one."""
    found: list[int] = []
    running = False
    for item in events:
        if item.kind == Sign.STARTED:
            if not running:
                found.append(_time(item))
            running = True
        elif item.kind in (Sign.EXITED, Sign.RESULT):
            running = False
    return found


def _end_of_phases(failures: list[Failure], events: list[Event], end: int) -> int:
    """A phase ends with the root failure, or the unit's end: what comes then is the death."""
    roots = [item.first_us for item in failures if item.role is Role.ROOT and item.first_us is not None]
    ends = [_time(item) for item in events if item.kind in (Sign.EXITED, Sign.STOP_WANTED, Sign.STOPPED, Sign.SIGTERM)]
    return min((*roots, *ends), default=end)


def _phases(events: list[Event], begin: int, end: int) -> tuple[Span, ...]:
    changes = [(_time(item), item.text) for item in events if item.kind == PHASE and _time(item) <= end]
    if not changes:
        return ()
    points = [(begin, _STARTING), *changes] if changes[0][0] > begin else changes
    ends = [at for at, _ in points[1:]] + [max(end, points[-1][0])]
    return tuple(Span(name, (at - begin) / 1e6, (stop - begin) / 1e6) for (at, name), stop in zip(points, ends, strict=True))


def _signs(events: list[Event], begin: int) -> Iterator[Moment]:
    last: dict[str, int] = {}
    for item in events:
        if item.kind == PHASE or item.kind in _QUIET:
            continue
        before, last[item.kind] = last.get(item.kind), _time(item)
        if before is None or _time(item) - before > _SAME or item.kind in (Sign.EXITED, Sign.RESULT, Sign.CHILD_DIED):
            yield Moment((_time(item) - begin) / 1e6, Tone.SIGN, SERVER, item.text)


def _failed(failures: list[Failure], begin: int) -> Iterator[Moment]:
    for failure in failures:
        at = ((failure.first_us or 0) - begin) / 1e6
        for lane in ranks(failure) or [SERVER]:
            yield Moment(at, Tone(failure.role.value), lane, f"{failure.kind.value}: {failure.title}")
