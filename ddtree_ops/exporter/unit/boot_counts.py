"""How many boots there were: the launcher's file holds the last fifty, a counter must not forget the others.

Counted is what came after the exporter first saw the file, so that neither its first start nor a lost state looks like boots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.units.eta import Boot, Outcome
from ddtree_ops.units.whole_number import MOST


@dataclass
class BootCount:
    """Of one port. `seen` are invocation and start of the newest boot that was counted; None before the first look."""

    totals: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    seen: tuple[str, str] | None = None

    def take(self, boots: Sequence[Boot]) -> bool:
        """Count what is new, oldest first. True if something changed."""
        if self.seen is None:
            self.seen = _key(boots[-1]) if boots else ("", "")
            return True
        new = self._after_seen(boots)
        for boot in new:
            self.totals[boot.outcome] += 1
        if new:
            self.seen = _key(new[-1])
        return bool(new)

    def _after_seen(self, boots: Sequence[Boot]) -> Sequence[Boot]:
        keys = [_key(boot) for boot in boots]
        if self.seen in keys:
            return boots[len(keys) - keys[::-1].index(self.seen) :]
        # fifty boots later, or another file: the newer ones by their time, which is text that sorts
        _, started = self.seen or ("", "")
        return [boot for boot in boots if boot.started > started]

    def to_data(self) -> dict[str, Any]:
        return {"seen": list(self.seen or ()), "totals": {str(name): count for name, count in self.totals.items()}}

    @classmethod
    def from_data(cls, data: Any) -> BootCount:
        """Of to_data(); a fresh one for anything else."""
        count = cls()
        if not isinstance(data, Mapping):
            return count
        seen, totals = data.get("seen"), data.get("totals")
        if isinstance(seen, list) and len(seen) == 2 and all(isinstance(word, str) for word in seen):
            count.seen = (seen[0], seen[1])
        for outcome in Outcome:
            number = totals.get(str(outcome)) if isinstance(totals, Mapping) else None
            if isinstance(number, int) and 0 <= number <= MOST:
                count.totals[outcome] = int(number)
        return count


def _key(boot: Boot) -> tuple[str, str]:
    return boot.invocation, boot.started
