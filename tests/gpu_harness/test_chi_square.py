"""The chi-square test against table values and against samples whose distributions are known."""

from __future__ import annotations

import random

import pytest

from tests.gpu.chi_square import compare, holm, upper_tail


@pytest.mark.parametrize(
    ("statistic", "freedom", "chance"),
    [(3.841, 1, 0.05), (18.307, 10, 0.05), (124.342, 100, 0.05), (6.635, 1, 0.01), (0.0039, 1, 0.95), (63.167, 100, 0.9985)],
)
def test_the_tail_has_the_tables_values(statistic: float, freedom: int, chance: float) -> None:
    assert upper_tail(statistic, freedom) == pytest.approx(chance, rel=0.02)


def test_two_degrees_of_freedom_have_a_closed_form() -> None:
    for statistic in (0.1, 1.0, 5.0, 40.0):
        assert upper_tail(statistic, 2) == pytest.approx(2.718281828459045 ** (-statistic / 2), rel=1e-9)


def test_one_distribution_rejects_about_as_often_as_the_level_says() -> None:
    draw = random.Random(5)  # noqa: S311
    chances = [
        compare(draw.choices(range(30), range(1, 31), k=500), draw.choices(range(30), range(1, 31), k=500)).chance
        for _ in range(400)
    ]
    assert 5 <= sum(chance < 0.05 for chance in chances) <= 40


def test_a_small_shift_is_seen() -> None:
    draw = random.Random(6)  # noqa: S311
    left = draw.choices("abc", (50, 30, 20), k=3000)
    right = draw.choices("abc", (44, 36, 20), k=3000)
    assert compare(left, right).chance < 0.001


def test_rare_categories_are_pooled_and_a_single_one_tells_nothing() -> None:
    assert compare(["a"] * 50, ["a"] * 50).freedom == 0
    result = compare(["a"] * 90 + list("bcdefghijk"), ["a"] * 90 + list("bcdefghijk"))
    assert (result.freedom, result.statistic) == (1, 0.0)
    assert compare(["a"] * 98 + ["b", "c"], ["a"] * 100).freedom == 0


def test_an_empty_sample_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        compare([], ["a"])


def test_holm_counts_the_tests() -> None:
    assert holm([0.02] + [0.5] * 9, 0.05)
    assert not holm([0.004] + [0.5] * 9, 0.05)
    assert holm([], 0.05)
