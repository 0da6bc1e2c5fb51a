"""Texts compared to their ends, over differences; what is a tie and what is not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.gpu.client import Answer, Choice, acceptance
from tests.gpu.differences import compare_texts, first_difference, judge


def test_where_two_texts_part() -> None:
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 9, 3]) == 1
    assert first_difference([1, 2, 3], [1, 2]) == 2


def test_a_tie_needs_both_tokens_at_the_top_and_close() -> None:
    assert judge(0, 5, 7, 8, Choice((7, 8), (-0.70, -0.72))).tie
    assert not judge(0, 5, 7, 8, Choice((7, 8), (-0.1, -2.5))).tie
    assert judge(0, 5, 8, 9, Choice((7, 8, 9), (-0.70, -0.71, -0.72))).gap == pytest.approx(0.02), "three may be at one height"
    assert not judge(0, 5, 8, 9, Choice((7, 8, 9), (-0.1, -2.50, -2.51))).tie, "close to each other, far below the best"
    assert judge(0, 5, 7, -1, Choice((7, 8), (-0.7, -0.7))).gap == float("inf")


def other_server(prompts: Sequence[Sequence[int]], tokens: int) -> list[tuple[int, ...]]:
    """Counts upwards, but says 500 wherever 12 is due."""
    return [tuple(500 if prompt[-1] + step == 12 else prompt[-1] + step for step in range(1, tokens + 1)) for prompt in prompts]


def test_the_comparison_goes_on_behind_a_difference() -> None:
    asked: list[int] = []

    def choose(prompt: Sequence[int]) -> Choice:
        asked.append(prompt[-1])
        return Choice((12, 500), (-0.70, -0.71))

    found = compare_texts([[9], [20]], [(10, 11, 12, 13, 99), (21, 22, 23)], other_server, choose)
    assert [(one.prompt, one.position, one.plain, one.other) for one in found] == [(0, 2, 12, 500), (0, 4, 99, 14)]
    assert [one.tie for one in found] == [True, False], "the second one was not among the best"
    assert asked == [11, 13]


def test_a_text_that_ends_early_is_no_tie() -> None:
    found = compare_texts(
        [[1]], [(2, 3)], lambda *_: [(2,)] if len(_[0][0]) == 1 else [(3,)], lambda _: Choice((3, 4), (-0.1, -0.2))
    )
    assert [(one.position, one.other, one.tie) for one in found] == [(1, -1, False)]


def test_the_first_token_of_an_answer_is_no_verify_step() -> None:
    answers = [Answer(tuple(range(9)), "", 4, 0, 1.0, "length"), Answer(tuple(range(5)), "", 2, 0, 1.0, "length")]
    assert acceptance(answers) == 2.0
    assert acceptance([Answer((1, 2), "", 0, 0, 1.0, "length")]) == 1.0
