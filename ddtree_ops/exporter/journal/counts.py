"""Counting failures once each, although the same log may be judged many times.

A stretch of a run is judged again and again while it grows. What was counted of it is remembered by fingerprint; a judgement
adds only what is more than that. So to judge the same twice, in one pass or in two, counts it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Failure, Role

#: Fingerprints that are told one by one (the catalogue's bound).
NEWEST = 20
_COUNTED_LIMIT = 2000  # of one stretch; hostile text can make any number of fingerprints
_GRAVITY = tuple(reversed(Role))  # the least grave first
_EACH = (Role.REQUEST, Role.NOISE)  # counted by occurrence; a server dies once, however many ranks say it


@dataclass(frozen=True, slots=True)
class Known:
    """One fingerprint as it is told: role and kind as judged last, `count` over all runs; times in microseconds."""

    fingerprint: str
    kind: Kind
    role: Role
    last_us: int
    count: int
    cause: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted of one fingerprint in the stretch that is open: how many, and under which role at last."""

    number: int
    role: Role


@dataclass(slots=True)
class Counts:
    """Totals since the state file began, the newest fingerprints, and what of the open stretch is in them already.

    Failures up to `silent_us` are remembered but not added to the totals: another file, or program, has counted them.
    """

    totals: dict[tuple[Kind, Role], int] = field(default_factory=dict)
    newest: dict[str, Known] = field(default_factory=dict)
    counted: dict[str, Counted] = field(default_factory=dict)
    silent_us: int = 0

    def take(self, failures: Iterable[Failure], at_us: int) -> tuple[str, ...]:
        """Add what is new in a judgement; the fingerprints that have news. `at_us`: the time of failures that have none."""
        by_name: dict[str, Failure] = {}
        for item in failures:
            known = by_name.get(item.fingerprint)
            graver = known is None or _graver(item.role, known.role)
            by_name[item.fingerprint] = item if graver else replace(known or item, last_us=_later(known, item))
        return tuple(name for name, item in by_name.items() if self._take(name, item, at_us))

    def open_anew(self, already: Mapping[str, Counted] | None = None) -> None:
        """A new stretch begins; `already`: what is judged with it, but was counted before."""
        self.counted = dict(already or {})

    def _take(self, name: str, item: Failure, at_us: int) -> bool:
        number = max(1, item.count) if item.role in _EACH else 1
        before = self.counted.get(name)
        if before is None and len(self.counted) >= _COUNTED_LIMIT:
            return False
        promoted = before is not None and _graver(item.role, before.role)
        more = number if before is None else max(0, number - before.number)
        added = max(more, 1) if promoted else more
        if added and (item.last_us or at_us) > self.silent_us:
            key = (item.kind, item.role)
            self.totals[key] = self.totals.get(key, 0) + added
        if before is not None and not added:
            return False
        role = item.role if before is None or promoted else before.role
        self.counted[name] = Counted(number if before is None else max(number, before.number), role)
        self._tell(item, more, at_us)
        return True

    def _tell(self, item: Failure, more: int, at_us: int) -> None:
        old = self.newest.pop(item.fingerprint, None)
        last = max(item.last_us or at_us, old.last_us if old else 0)
        count = more + (old.count if old else 0)
        words = (old.cause, old.fix) if old else ("", "")
        self.newest[item.fingerprint] = Known(item.fingerprint, item.kind, item.role, last, count, *words)
        while len(self.newest) > NEWEST:
            del self.newest[min(self.newest, key=lambda name: self.newest[name].last_us)]


def as_counted(failures: Iterable[Failure]) -> dict[str, Counted]:
    """What `Counts.take` would remember of these failures."""
    counts = Counts()
    counts.take(failures, 0)
    return counts.counted


def _graver(one: Role, other: Role) -> bool:
    return _GRAVITY.index(one) > _GRAVITY.index(other)


def _later(one: Failure | None, other: Failure) -> int | None:
    times = [item.last_us for item in (one, other) if item is not None and item.last_us is not None]
    return max(times, default=None)
