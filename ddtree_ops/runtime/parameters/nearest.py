"""Names that are near to one that isn't known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 120
_MOST = 3


def nearest(name: str, known: Iterable[str], cutoff: float = 0.7) -> tuple[str, ...]:
    """The nearest of known names, best first; those with the same words in another order count as near, too."""
    wanted = name[:_LONGEST]
    others = [one for one in dict.fromkeys(known) if one and len(one) <= _LONGEST]
    words = _words(wanted)
    reordered = [one for one in others if len(words) > 1 and _words(one) == words and one != name]
    close = difflib.get_close_matches(wanted, others, n=_MOST, cutoff=cutoff)
    return tuple(dict.fromkeys([*reordered, *close]))[:_MOST]


def similarity(one: str, other: str) -> float:
    """0 to 1, over at most 2,000 letters."""
    return difflib.SequenceMatcher(None, one[:2_000], other[:2_000], autojunk=False).ratio()


def _words(name: str) -> list[str]:
    return sorted(part for part in name.lower().replace("-", "_").split("_") if part)
