"""How many boots there were: the launcher's file holds the last fifty, a counter must not forget the others.

A record is known by what it is, never by its time: a clock that was wrong for one boot would stop the counting for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.units.eta import Boot, Outcome

#: Records of a file that are looked at, the newest; five times what the launcher keeps.
_MOST_BOOTS = 256
#: Records that are known again, so that an older copy of the file that was put back counts for nothing.
_MOST_KNOWN = 2 * _MOST_BOOTS


@dataclass
class BootCount:
    """Of one port. `known` are the marks of records that count for nothing more, oldest first; None: all of the first look."""

    known: tuple[str, ...] | None = ()
    totals: dict[str, int] = field(default_factory=lambda: {str(outcome): 0 for outcome in Outcome})

    def take(self, boots: Sequence[Boot]) -> bool:
        """Count what is new; True if something changed."""
        newest = {_mark(boot): boot.outcome for boot in boots[-_MOST_BOOTS:]}
        known = dict.fromkeys(newest if self.known is None else self.known)
        new = [mark for mark in newest if mark not in known]
        for mark in new:
            self.totals[newest[mark]] += 1
        changed = bool(new) or self.known is None
        self.known = (*known, *new)[-_MOST_KNOWN:]
        return changed

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> BootCount:
        """What asdict() gave. Raises TypeError, KeyError, ValueError for anything else."""
        known = None if data["known"] is None else tuple(map(str, data["known"]))
        return cls(known, {str(outcome): int(data["totals"].get(outcome, 0)) for outcome in Outcome})


def _mark(boot: Boot) -> str:
    return hashlib.sha256(f"{boot.invocation}\0{boot.started}\0{boot.outcome}".encode()).hexdigest()[:16]
