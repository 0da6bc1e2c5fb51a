"""Two-sample chi-square test of counts, for the sampling stage; standard library only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

FEWEST_EXPECTED = 5.0
SERIES_END = 1e-15
MOST_TERMS = 10_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """Statistic, degrees of freedom, and the chance of a statistic this large if both samples have one distribution.
    `freedom` 0: all of both samples fell into one category, so there is nothing to tell apart and `chance` is 1."""

    statistic: float
    freedom: int
    chance: float


def compare(left: Iterable[Hashable], right: Iterable[Hashable]) -> Comparison:
    """Whether two samples come from one distribution.

    Categories whose expected count is below 5 in either sample are pooled into one (Cochran's rule), so that the
    chi-square distribution is a fair approximation. Raises ValueError for an empty sample.
    """
    first, second = Counter(left), Counter(right)
    sizes = first.total(), second.total()
    if not all(sizes):
        raise ValueError("a sample is empty")
    cells = _pooled([(first[key], second[key]) for key in first.keys() | second.keys()], sizes)
    if len(cells) < 2:
        return Comparison(0.0, 0, 1.0)
    total, statistic = sum(sizes), 0.0
    for cell in cells:
        for count, size in zip(cell, sizes, strict=True):
            expected = sum(cell) * size / total
            statistic += (count - expected) ** 2 / expected
    return Comparison(statistic, len(cells) - 1, upper_tail(statistic, len(cells) - 1))


def _pooled(cells: list[tuple[int, int]], sizes: tuple[int, int]) -> list[tuple[int, int]]:
    """Cells with rare ones added up; the sum joins the smallest remaining cell if it is still rare."""
    share = min(sizes) / sum(sizes)
    common = sorted((cell for cell in cells if sum(cell) * share >= FEWEST_EXPECTED), key=sum)
    rare = [cell for cell in cells if sum(cell) * share < FEWEST_EXPECTED]
    if not rare:
        return common
    rest = (sum(cell[0] for cell in rare), sum(cell[1] for cell in rare))
    if sum(rest) * share < FEWEST_EXPECTED and common:
        smallest = common.pop(0)
        rest = (rest[0] + smallest[0], rest[1] + smallest[1])
    return [*common, rest]


def upper_tail(statistic: float, freedom: int) -> float:
    """P(X >= statistic) of a chi-square variable: the regularised upper incomplete gamma function Q(freedom/2, statistic/2),
    by its series below the mean and by its continued fraction above (Abramowitz and Stegun 6.5.29 and 6.5.31)."""
    shape, x = freedom / 2, statistic / 2
    if x <= 0:
        return 1.0
    scale = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        return max(0.0, 1.0 - scale * _series(shape, x))
    return min(1.0, scale * _fraction(shape, x))


def _series(shape: float, x: float) -> float:
    term = total = 1 / shape
    for step in range(1, MOST_TERMS):
        term *= x / (shape + step)
        total += term
        if term < total * SERIES_END:
            break
    return total


def _fraction(shape: float, x: float) -> float:
    """The continued fraction from the back; the number of levels that a double needs grows with the root of the shape."""
    value = 0.0
    for step in range(60 + int(4 * math.sqrt(shape)), 0, -1):
        value = step * (step - shape) / (x + 2 * step + 1 - shape - value)
    return 1 / (x + 1 - shape - value)


def holm(chances: Iterable[float], level: float) -> bool:
    """True if, at this level for all tests together, none rejects (Holm: the smallest must exceed level / count)."""
    ordered = sorted(chances)
    return not ordered or ordered[0] > level / len(ordered)
