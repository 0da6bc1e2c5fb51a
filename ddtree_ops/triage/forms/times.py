"""Points in time as logs write them, as microseconds since the epoch; pure functions of the text.

A time without a zone is taken as UTC: only the order and the distances within one log are sure.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime
from functools import lru_cache

SECOND = 1_000_000
_DAY_US = 86_400 * SECOND
# other languages' names, by what they begin with, where that is no English one (glibc's de, es, fr, it, nl, pt)
_BEGINNINGS = {
    **dict.fromkeys(("jan", "ene", "gen"), 1),
    **dict.fromkeys(("feb", "fev", "fév"), 2),
    **dict.fromkeys(("mar", "mär", "mrt", "maa"), 3),
    **dict.fromkeys(("apr", "abr", "avr"), 4),
    **dict.fromkeys(("may", "mai", "mag", "mei"), 5),
    **dict.fromkeys(("jun", "juin", "giu"), 6),
    **dict.fromkeys(("jul", "juil", "lug"), 7),
    **dict.fromkeys(("aug", "ago", "aoû", "aou"), 8),
    **dict.fromkeys(("sep", "set"), 9),
    **dict.fromkeys(("oct", "okt", "ott", "out"), 10),
    **dict.fromkeys(("nov",), 11),
    **dict.fromkeys(("dec", "dez", "dic", "déc"), 12),
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ZONE = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)")
_RFC3339 = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)"
)
_YEARS_BACK = 9  # a 29th of February is at most eight years away


def instant(date: str, clock: str, fraction: str | None, zone: str | None) -> int | None:
    """`2026-04-02`, `03:04:05`, digits of a fraction of any length, `Z`, `UTC`, `+0200`, `+02:00`; None if no such day."""
    midnight = _midnight(date)
    if midnight is None:
        return None
    return midnight * SECOND + _clock_us(clock, fraction) - _zone_us(zone)


def yearless(month: str, day: str, clock: str, fraction: str | None, now_us: int | None) -> tuple[int | None, int | None]:
    """`Apr`, `02`, ...: (time since the epoch, time since the year began).

    The year is the newest that puts the time at most a day after `now_us`. Without a `now_us` the first is None and the
    second tells the order.
    """
    number = _month(month)
    if number is None:
        return None, None
    if now_us is not None:
        newest = datetime.fromtimestamp(now_us / SECOND, UTC).year + 1
        for year in range(newest, newest - _YEARS_BACK, -1):
            found = instant(f"{year:04}-{number:02}-{int(day):02}", clock, fraction, None)
            if found is not None and found <= now_us + _DAY_US:
                return found, None
        return None, None
    start = _midnight(f"1972-{number:02}-{int(day):02}")  # a leap year
    year_began = _midnight("1972-01-01")
    if start is None or year_began is None:
        return None, None
    return None, (start - year_began) * SECOND + _clock_us(clock, fraction)


def rfc3339(text: str) -> int | None:
    """`2026-04-02T03:04:05.123456789Z`, or None if it is something else."""
    found = _RFC3339.fullmatch(text[:64])
    return instant(found["date"], found["clock"], found["fraction"], found["zone"]) if found else None


def month_of(name: str) -> str | None:
    """`Apr` as `04`."""
    number = _month(name)
    return None if number is None else f"{number:02}"


def _month(name: str) -> int | None:
    if name in _MONTHS:
        return _MONTHS.index(name) + 1
    if name[:-1].isdecimal():  # `11月`
        number = int(name[:-1])
        return number if 1 <= number <= len(_MONTHS) else None
    lower = name.lower()
    return _BEGINNINGS.get(lower[:4]) or _BEGINNINGS.get(lower[:3])


@lru_cache(maxsize=64)
def _midnight(date: str) -> int | None:
    try:
        day = datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return calendar.timegm(day.timetuple())


def _clock_us(clock: str, fraction: str | None) -> int:
    hours, minutes, seconds = clock.split(":")
    return (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * SECOND + _fraction_us(fraction)


def _fraction_us(fraction: str | None) -> int:
    return int(fraction[:6].ljust(6, "0")) if fraction else 0


@lru_cache(maxsize=64)
def _zone_us(zone: str | None) -> int:
    found = _ZONE.fullmatch(zone) if zone else None
    if found is None:
        return 0
    offset = (int(found["hours"]) * 60 + int(found["minutes"])) * 60 * SECOND
    return -offset if found["sign"] == "-" else offset
