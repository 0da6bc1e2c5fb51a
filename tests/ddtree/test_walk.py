"""Acceptance: greedy equals plain decoding, sampling keeps the distribution, never worse than the chain."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from sglang_ddtree.ddtree.masks import ancestors
from sglang_ddtree.ddtree.tree import DraftTree, build_tree
from sglang_ddtree.ddtree.walk import walk
from tests.ddtree.trees import Rows, score_rows, token_ids

Target = Callable[[tuple[int, ...]], int]


def text_to(tree: DraftTree, node: int) -> tuple[int, ...]:
    return tuple(tree.tokens[above] for above in reversed(ancestors(tree, node)))


def chain_length(rows: Rows, target: Target, root: int) -> int:
    """What DFLASH would accept: its chain of first choices, compared with the target."""
    text: tuple[int, ...] = (root,)
    for row in token_ids(rows):
        if target(text) != row[0]:
            break
        text += (row[0],)
    return len(text) - 1


@given(score_rows(), st.integers(0, 30), st.integers(0, 2**30))
def test_greedy_is_plain_decoding_and_at_least_the_chain(rows: Rows, more: int, seed: int) -> None:
    ids = token_ids(rows)
    choices = [token for row in ids for token in row]

    def target(text: tuple[int, ...]) -> int:
        return random.Random(f"{seed} {text}").choice(choices)  # noqa: S311

    tree = build_tree(rows, ids, 1, len(rows) + more)
    accepted = walk(tree, [target(text_to(tree, node)) for node in range(len(tree.tokens))])
    plain: tuple[int, ...] = (1,)
    for _ in accepted.tokens:
        plain += (target(plain),)
    assert accepted.tokens == plain[1:]
    assert tuple(tree.tokens[node] for node in accepted.nodes) == plain[:-1]
    assert len(accepted.nodes) - 1 >= chain_length(rows, target, 1)


def test_padding_is_never_accepted() -> None:
    """The target repeats the root's token, which the padding nodes hold, too."""
    tree = build_tree([[-1.0]], [[5]], 9, 8)
    assert walk(tree, [9] * 9).nodes == (0,)


def test_limit() -> None:
    tree = build_tree([[-1.0], [-1.0]], [[5], [6]], 9, 2)
    assert walk(tree, [5, 6, 7]).tokens == (5, 6, 7)
    assert walk(tree, [5, 6, 7], limit=1).tokens == (5, 6)
    assert walk(tree, [5, 6, 7], limit=0).tokens == (5,)


def test_sampling_keeps_the_distribution() -> None:
    """First three tokens of texts made by walks, against those drawn one by one: chi-square at the 0.1 % level."""
    rng = random.Random(4)  # noqa: S311
    counts: Counter[tuple[int, ...]] = Counter()
    rounds = 20_000
    tree = build_tree([[-0.4, -1.1], [-0.4, -1.1]], [[0, 1], [1, 0]], 2, 5)
    for _ in range(rounds):
        text: tuple[int, ...] = (2,)
        while len(text) < 4:
            draws = [_draw(rng, text + text_to(tree, node)[1:]) for node in range(len(tree.tokens))]
            text += walk(tree, draws).tokens
        counts[text[1:4]] += 1
    statistic = 0.0
    for first, second, third in ((a, b, c) for a in range(3) for b in range(3) for c in range(3)):
        expected = rounds * math.prod(
            (_chance((2,), first), _chance((2, first), second), _chance((2, first, second), third)),
        )
        statistic += (counts[first, second, third] - expected) ** 2 / expected
    assert statistic < 54.1  # chi-square with 26 degrees of freedom, 0.1 % level


def _chance(text: tuple[int, ...], token: int) -> float:
    weights = [1 + (3 * sum(text) + 2 * len(text) + 5 * other) % 7 for other in range(3)]
    return weights[token] / sum(weights)


def _draw(rng: random.Random, text: tuple[int, ...]) -> int:
    return rng.choices(range(3), [_chance(text, token) for token in range(3)])[0]
