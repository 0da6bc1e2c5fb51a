"""Times as journalctl's --since takes them (systemd.time(7)), as far as people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ddtree_ops.errors import UsageError

_UNITS = {
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "d": 86_400.0,
    "day": 86_400.0,
    "days": 86_400.0,
    "w": 604_800.0,
    "week": 604_800.0,
    "weeks": 604_800.0,
}
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?([a-z]{1,7})? ?")
_EPOCH = re.compile(r"@(\d{1,12}(?:\.\d{1,6})?)")
_DAYS_BACK = {"today": 0, "yesterday": 1}
_FORMS = ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%H:%M:%S", "%H:%M")
_HINT = "-2h, -30min, @1795977363, 2026-11-29 18:36:00, today"


def since_us(text: str, now: float) -> int:
    """Microseconds since the epoch; `now` in seconds. Local time, unless `UTC` stands behind. Raises UsageError."""
    words = text.strip()
    if words == "now":
        return int(now * 1e6)
    epoch = _EPOCH.fullmatch(words)
    if epoch:
        return round(float(epoch[1]) * 1e6)
    if words.startswith("-") or words.endswith(" ago"):
        return round((now - _span(words.removeprefix("-").removesuffix(" ago"), text)) * 1e6)
    return round(_calendar(words, text, now) * 1e6)


def _span(words: str, text: str) -> float:
    total, at = 0.0, 0
    if not words:
        raise UsageError(f"--since: {text!r} is no time", hint=_HINT)
    while at < len(words):
        found = _SPAN.match(words, at)
        if found is None or (found[2] or "s") not in _UNITS:
            raise UsageError(f"--since: {text!r} is no time", hint=_HINT)
        total += float(found[1]) * _UNITS[found[2] or "s"]
        at = found.end()
    return total


def _calendar(words: str, text: str, now: float) -> float:
    zone = UTC if words.endswith(" UTC") else None
    words = words.removesuffix(" UTC").replace("T", " ")
    today = datetime.fromtimestamp(now, zone)
    if words in _DAYS_BACK:
        day = today.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=_DAYS_BACK[words])
        return day.timestamp()
    for form in _FORMS:
        try:
            found = datetime.strptime(words, form)
        except ValueError:
            continue
        if "%Y" not in form:
            found = datetime.combine(today.date(), found.time())
        return found.replace(tzinfo=zone).timestamp()
    raise UsageError(f"--since: {text!r} is no time", hint=_HINT)
