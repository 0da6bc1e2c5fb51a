"""Rows in the order in which people look for them, and how many are in which state."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ddtree_ops.exporter.sight.model import RANK, State

_DIGITS = re.compile(r"([0-9]{1,15})")


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """`ct9` before `ct10`."""
    parts = _DIGITS.split(name)
    return tuple((False, int(part), "") if place % 2 else (True, 0, part) for place, part in enumerate(parts) if part)


def worst_first(state: State, host: str) -> tuple[int, tuple[tuple[bool, int, str], ...]]:
    """The key to sort by."""
    return RANK[state], natural(host)


def counts(states: Iterable[State]) -> tuple[tuple[State, int], ...]:
    """How many are in which state, worst first."""
    counted = Counter(states)
    return tuple((state, counted[state]) for state in State if counted[state])
