"""When a pass is due: at the start, right after a sign of a crash fell silent, soon after weaker signs, and now and then."""

from __future__ import annotations

from dataclasses import dataclass

from ddtree_ops.exporter.journal.follow import Sign

REGULAR_SECONDS = 300.0
SOON_SECONDS = 60.0
#: After the newest sign, and at most after the first one. The pass itself waits for the rest of the failure.
SILENT_SECONDS, LONGEST_SECONDS = 0.25, 1.0
#: Between two passes for signs: a server in a crash loop has a pass for each crash at first, then every so often.
_LEAST_GAP, _MOST_GAP, _GROWTH = 2.0, 20.0, 1.5
_CALM_SECONDS = 120.0


@dataclass(slots=True)
class Schedule:
    """One journal's passes; all times are monotonic seconds. The next one is due at `due`."""

    due: float
    first_sign: float | None = None
    gap: float = _LEAST_GAP
    began_at: float | None = None

    def sign(self, sign: Sign, now: float) -> None:
        """Something was seen."""
        if sign is Sign.NOW:
            fresh = self.first_sign is None
            self.first_sign = now if self.first_sign is None else self.first_sign
            wanted = max(min(now + SILENT_SECONDS, self.first_sign + LONGEST_SECONDS), self._earliest())
            self.due = min(self.due, wanted) if fresh else max(self.due, wanted)
        elif sign is Sign.SOON:
            self.due = min(self.due, now + SOON_SECONDS)

    def begin(self, now: float) -> None:
        """A pass begins; signs from now on are for the next one."""
        calm = self.began_at is None or now - self.began_at >= _CALM_SECONDS
        if self.first_sign is not None:
            self.gap = _LEAST_GAP if calm else min(self.gap * _GROWTH, _MOST_GAP)
        self.began_at, self.first_sign = now, None
        self.due = now + REGULAR_SECONDS

    def _earliest(self) -> float:
        return float("-inf") if self.began_at is None else self.began_at + self.gap
