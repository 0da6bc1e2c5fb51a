"""The time that a program wrote before its own line, for logs whose lines have no other.

SGLang's `[2026-04-02 03:04:05 TP0]` and the others name no zone: they are local times, taken as UTC here, so that order and
distances are right and the clock may be some hours off. vLLM's `ERROR 04-02 03:04:05` has no year: it needs `now_us`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from ddtree_ops.triage.forms.times import SECOND, instant

_CLOCK = r"(?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)?"
_TIME = re.compile(
    r"(?:\d{1,3}\|[\w.-]{1,60} {0,60}\| )?(?:\[[^\]\s]{1,40}\](?:<std(?:err|out)>)?: ?)?(?:\([^()]{1,120}\) )?"
    rf"(?:\[?(?P<date>\d{{4}}-\d\d-\d\d)[ T]|\[(?P<american>\d\d/\d\d/\d{{4}})-|(?:\[|[A-Z]{{4,8}} )(?P<day>\d\d-\d\d) ){_CLOCK}"
)
_DAY_US = 86_400 * SECOND
_YEARS_BACK = 9  # a 29th of February is at most eight years away
_FIRST_YEAR, _LAST_YEAR = 2000, 2200


class OwnTimes:
    """Ask it of every line in order: a line without a time has that of the one before."""

    def __init__(self, now_us: int | None = None) -> None:
        self._now_us = now_us
        self._last: int | None = None

    def of(self, text: str) -> int | None:
        """The line's time in microseconds since the epoch, or None as long as no line has told any."""
        found = _TIME.match(text)
        if found:
            at = _read(found["date"], found["american"], found["day"], found["clock"], found["zone"], self._now_us)
            if at is not None:
                self._last = at + int((found["fraction"] or "0")[:6].ljust(6, "0"))
        return self._last


@lru_cache(maxsize=256)
def _read(
    date: str | None, american: str | None, day: str | None, clock: str, zone: str | None, now_us: int | None
) -> int | None:
    if american:
        month, number, year = american.split("/")
        date = f"{year}-{month}-{number}"
    if date:
        return instant(date, clock, None, zone) if _FIRST_YEAR <= int(date[:4]) < _LAST_YEAR else None
    return _newest(day or "", clock, zone, now_us) if now_us is not None else None


def _newest(day: str, clock: str, zone: str | None, now_us: int) -> int | None:
    """In the newest year that puts it at most a day after now."""
    year = datetime.fromtimestamp(now_us / SECOND, UTC).year + 1
    found = (instant(f"{number:04}-{day}", clock, None, zone) for number in range(year, year - _YEARS_BACK, -1))
    return next((at for at in found if at is not None and at <= now_us + _DAY_US), None)
