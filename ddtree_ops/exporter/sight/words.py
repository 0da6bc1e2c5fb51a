"""Numbers in words, the same on page and terminal; what isn't known is a dash."""

from __future__ import annotations

UNKNOWN = "–"
_LONGEST_NAME = 120
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def plain(text: str, limit: int = _LONGEST_NAME) -> str:
    """A label for one line: no control, format or direction characters (Unicode C and Z, but the space); cut at `limit`."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def span(seconds: float) -> str:
    """`7 s`, `6 min 52 s`, `3 h 5 min`, `12 days`: two units at most, so that columns stay narrow."""
    whole = int(max(0.0, seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        minutes, rest = divmod(whole, _MINUTE)
        return f"{minutes} min {rest} s" if rest and minutes < 20 else f"{minutes} min"
    if whole < 2 * _DAY:
        hours, rest = divmod(whole // _MINUTE, 60)
        return f"{hours} h {rest} min" if rest and hours < 10 else f"{hours} h"
    return f"{whole // _DAY} days"


def ago(then: float | None, now: float) -> str:
    """`12 s ago`, `3 min ago`, `5 h ago`, `2 days ago`: one unit, as status.js counts it on."""
    if then is None:
        return UNKNOWN
    whole = int(max(0.0, now - then))
    if whole < _MINUTE:
        return f"{whole} s ago"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min ago"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR} h ago"
    return f"{whole // _DAY} days ago"


def number(value: float | None, digits: int = 0) -> str:
    """`1,234`; with digits, fewer of them the larger it is."""
    if value is None:
        return UNKNOWN
    if value >= 100 or not digits:
        return f"{value:,.0f}"
    return f"{value:,.{digits if value < 10 else 1}f}"


def hundredths(share: float | None) -> int | None:
    """Rounded down: 100 means all of it."""
    return None if share is None else int(share * 100 + 1e-9)


def percent(share: float | None) -> str:
    """`43%`, rounded down."""
    return UNKNOWN if share is None else f"{hundredths(share)}%"


def gibibytes(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value / (1 << 30):,.0f}"
