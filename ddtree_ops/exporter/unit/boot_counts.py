"""How many boots there were: the launcher's file holds the last fifty, a counter must not forget the others.

A record is known by what it is, never by its time: a clock that was wrong for one boot would stop the counting for good. Counted
is what came after the exporter first saw the file, so that neither its first start nor a lost state looks like boots.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.units.eta import Boot, Outcome
from ddtree_ops.units.whole_number import MOST

#: Records of a file that are looked at, the newest; five times what the launcher keeps.
MOST_BOOTS = 256
#: Records that are known again, so that an older copy of the file that was put back counts for nothing.
_MOST_KNOWN = 2 * MOST_BOOTS
_MARK_LENGTH = 16


@dataclass
class BootCount:
    """Of one port. `known` are the marks of records that count for nothing more, oldest first; None before the first look."""

    totals: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    known: tuple[str, ...] | None = None

    def take(self, boots: Sequence[Boot], *, past: bool = True) -> bool:
        """Count what is new; True if something changed. `past`: at a first look these are boots of before the exporter's time."""
        newest = {_mark(boot): boot for boot in boots[-MOST_BOOTS:]}
        known = dict.fromkeys(self.known or ())
        new = [mark for mark in newest if mark not in known]
        if self.known is not None or not past:
            for mark in new:
                self.totals[newest[mark].outcome] += 1
        changed = bool(new) or self.known is None
        self.known = (*known, *new)[-_MOST_KNOWN:]
        return changed

    def to_data(self) -> dict[str, Any]:
        return {"known": list(self.known or ()), "totals": {str(name): count for name, count in self.totals.items()}}

    @classmethod
    def from_data(cls, data: Any) -> BootCount:
        """Of to_data(); a fresh one for anything else."""
        count = cls()
        if not isinstance(data, Mapping):
            return count
        known, totals = data.get("known"), data.get("totals")
        if isinstance(known, list) and all(isinstance(mark, str) and len(mark) == _MARK_LENGTH for mark in known):
            count.known = tuple(known[-_MOST_KNOWN:])
        for outcome in Outcome:
            number = totals.get(str(outcome)) if isinstance(totals, Mapping) else None
            if isinstance(number, int) and 0 <= number <= MOST:
                count.totals[outcome] = int(number)
        return count


def _mark(boot: Boot) -> str:
    return hashlib.sha256(f"{boot.invocation}\0{boot.started}\0{boot.outcome}".encode()).hexdigest()[:_MARK_LENGTH]
