"""Durations as people write them: 90, 90s, 15m, 1h, 1h30m."""

from __future__ import annotations

import re

_UNITS = {"h": 3600, "m": 60, "s": 1}
_PARTS = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
EXPECTED = "a duration such as 90, 90s, 15m, 1h or 1h30m"
MOST_SECONDS = 7 * 86400
_MOST_CHARACTERS = 32  # int() takes quadratic time, and refuses thousands of digits in words of its own


def parse_duration(value: object) -> int:
    """Seconds, from 1 to MOST_SECONDS. A bare number means seconds. Raises ValueError that says what was expected."""
    if isinstance(value, str) and len(value) > _MOST_CHARACTERS:
        raise ValueError(f"expected {EXPECTED}, of at most {_MOST_CHARACTERS} characters")
    if isinstance(value, int) and not isinstance(value, bool):
        seconds = value
    elif isinstance(value, str) and value.isascii() and value.isdigit():
        seconds = int(value)
    elif isinstance(value, str) and value.isascii() and value and (match := _PARTS.fullmatch(value)):
        seconds = sum(int(part or 0) * unit for part, unit in zip(match.groups(), _UNITS.values(), strict=True))
    else:
        raise ValueError(f"expected {EXPECTED}")
    if seconds < 1:
        raise ValueError(f"expected {EXPECTED}, of at least one second")
    if seconds > MOST_SECONDS:
        raise ValueError(f"expected {EXPECTED}, of at most {format_duration(MOST_SECONDS)}")
    return seconds


def format_duration(seconds: int) -> str:
    """The shortest way to write it: 5400 is 1h30m. `parse_duration` reads it back."""
    parts = []
    for unit, size in _UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
