"""Repetitions of one measurement, and what they say."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Spread:
    """Median, least and greatest of `count` values."""

    median: float
    least: float
    greatest: float
    count: int

    def to_data(self) -> dict[str, Any]:
        return {"median": self.median, "min": self.least, "max": self.greatest, "n": self.count}


def spread(values: Sequence[float], digits: int = 3) -> Spread:
    """Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    numbers = (statistics.median(values), min(values), max(values))
    return Spread(*(round(number, digits) for number in numbers), len(values))


def from_data(data: dict[str, Any]) -> Spread:
    return Spread(data["median"], data["min"], data["max"], data["n"])
