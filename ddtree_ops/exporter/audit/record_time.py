"""The time of an audit record. The clock of a host may have been wrong, before NTP or for good."""

from __future__ import annotations

from datetime import datetime

_EARLIEST = 1_577_836_800.0  # 2020: there was no ddtree-ops
_AHEAD_SECONDS = 86400.0  # so far the clocks of two machines may differ


def written(text: object) -> float | None:
    """Unix time of RFC 3339; None for what isn't."""
    try:
        return datetime.fromisoformat(str(text)[:40]).timestamp()
    except (ValueError, OverflowError):
        return None


def plausible(at: float | None, now: float) -> float | None:
    """The same time, if it can be one; `now` is Unix time."""
    return at if at is not None and _EARLIEST <= at <= now + _AHEAD_SECONDS else None
