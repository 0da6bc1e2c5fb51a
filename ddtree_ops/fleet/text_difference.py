"""How two unit files differ, for people."""

from __future__ import annotations

import difflib

MOST_LINES = 80
_CONTEXT = 1  # a unit file's lines speak for themselves


def difference(before: str | None, after: str | None) -> tuple[str, ...]:
    """A unified diff without headings and comments; empty where one of them isn't known, or nothing that counts differs."""
    if before is None or after is None or before == after:
        return ()
    lines = list(difflib.unified_diff(_counting(before), _counting(after), lineterm="", n=_CONTEXT))[2:]
    more = (f"... {len(lines) - MOST_LINES} more lines",) if len(lines) > MOST_LINES else ()
    return (*lines[:MOST_LINES], *more)


def _counting(text: str) -> list[str]:
    """systemd.syntax(7): empty lines and those that begin with # or ; are ignored."""
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", ";"))]
