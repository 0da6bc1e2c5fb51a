"""Bounds of a histogram's buckets: which ones a query asks for, and which ones another configuration would have."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from ddtree_ops.units.promql import Matcher

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def bound(text: str) -> float:
    """The value of a label `le`; infinite for one that is no number."""
    try:
        return float(text)
    except ValueError:
        return math.inf


def matches(matcher: Matcher, value: str) -> bool:
    """Whether `=` or `=~` takes this value."""
    if matcher.operator == "=":
        return value == matcher.value
    try:
        return re.fullmatch(_pattern(matcher), value) is not None
    except re.error:  # RE2, of Prometheus, knows what Python doesn't
        return True


def beyond(matcher: Matcher, values: Iterable[str]) -> float | None:
    """The largest finite bound, if the histogram counts up to a configured number and the query asks only for more.

    Such a one has every whole number from 1 as a bound: tokens of a step, up to the block size. Of a histogram with other bounds,
    seconds for one, a bound beyond the largest is missing like any other.
    """
    bounds = sorted({one for one in map(bound, values) if math.isfinite(one)})
    if not bounds or bounds != [float(number) for number in range(1, len(bounds) + 1)]:
        return None
    asked = [number for number in map(float, _NUMBER.findall(_pattern(matcher))) if _takes(matcher, number)]
    return bounds[-1] if asked and min(asked) > bounds[-1] else None


def _takes(matcher: Matcher, number: float) -> bool:
    return any(matches(matcher, text) for text in (f"{number:g}", repr(number)))


def _pattern(matcher: Matcher) -> str:
    return matcher.value.replace("\\\\", "\\")
