"""The reference builder: it must find the heaviest nodes, keep the spine, and pad what can't be filled."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sglang_ddtree.ddtree.masks import ancestors
from sglang_ddtree.ddtree.tree import NO_PARENT, DraftTree, build_tree
from tests.ddtree.trees import Rows, all_nodes, score_rows, token_ids, weight

ROOT = 7


def ranks_of(tree: DraftTree, node: int) -> tuple[int, ...]:
    return tuple(tree.tokens[above] % 100 for above in reversed(ancestors(tree, node)[:-1]))


def grown(rows: Rows, budget: int) -> DraftTree:
    return build_tree(rows, token_ids(rows), ROOT, budget)


def test_by_hand() -> None:
    """Spine first (.6, .6 * .5), then .6 * .4, then .3."""
    rows = [[math.log(0.6), math.log(0.3)], [math.log(0.5), math.log(0.4)]]
    tree = build_tree(rows, [[11, 12], [21, 22]], ROOT, 4)
    assert tree.tokens == (ROOT, 11, 21, 12, 22)
    assert tree.parents == (NO_PARENT, 0, 1, 0, 1)
    assert tree.depths == (0, 1, 2, 1, 2)


@given(score_rows(), st.integers(0, 40))
def test_the_spine_is_there_and_the_rest_are_the_heaviest(rows: Rows, more: int) -> None:
    budget = len(rows) + more
    tree = grown(rows, budget)
    spine = {(0,) * depth for depth in range(1, len(rows) + 1)}
    chosen = [ranks_of(tree, node) for node in range(1, tree.size)]
    assert chosen[: len(rows)] == sorted(spine, key=len)
    others = [ranks for ranks in all_nodes(rows) if ranks not in spine and weight(rows, ranks) > -math.inf]
    heaviest = sorted((weight(rows, ranks) for ranks in others), reverse=True)[:more]
    assert sorted((weight(rows, ranks) for ranks in chosen[len(rows) :]), reverse=True) == heaviest
    assert len(set(chosen)) == len(chosen)


@given(score_rows(), st.integers(0, 40))
def test_shape(rows: Rows, more: int) -> None:
    budget = len(rows) + more
    tree = grown(rows, budget)
    assert len(tree.tokens) == len(tree.parents) == len(tree.depths) == budget + 1
    for node in range(1, tree.size):
        assert 0 <= tree.parents[node] < node
        assert tree.depths[node] == tree.depths[tree.parents[node]] + 1
    for node in range(tree.size, budget + 1):
        assert (tree.tokens[node], tree.parents[node], tree.depths[node]) == (ROOT, NO_PARENT, 0)


@given(score_rows(), st.integers(0, 20), st.integers(1, 20))
def test_a_larger_budget_only_adds(rows: Rows, more: int, extra: int) -> None:
    small, large = grown(rows, len(rows) + more), grown(rows, len(rows) + more + extra)
    assert large.tokens[: small.size] == small.tokens[: small.size]
    assert large.parents[: small.size] == small.parents[: small.size]


def test_weights_fall_along_the_order_after_the_spine() -> None:
    rows = [[-0.1, -0.9, -2.5], [-0.2, -1.4, -1.5], [-0.4, -0.5, -3.0]]
    tree = grown(rows, 20)
    weights = [weight(rows, ranks_of(tree, node)) for node in range(4, tree.size)]
    assert weights == sorted(weights, reverse=True)


def test_ties_go_to_the_earlier_place() -> None:
    rows = [[-1.0, -1.0, -1.0], [-1.0, -1.0, -1.0]]
    tree = grown(rows, 6)
    assert [ranks_of(tree, node) for node in range(1, 7)] == [(0,), (0, 0), (1,), (2,), (0, 1), (0, 2)]


def test_short_vocabulary_is_padded() -> None:
    tree = grown([[-0.5, -1.0], [-0.5, -1.0]], 31)
    assert tree.size == 1 + 2 + 4
    assert set(tree.parents[tree.size :]) == {NO_PARENT}


@pytest.mark.parametrize("nothing", [-math.inf, math.nan])
def test_impossible_tokens_are_only_on_the_spine(nothing: float) -> None:
    tree = grown([[-0.5, nothing], [nothing, nothing]], 10)
    assert [ranks_of(tree, node) for node in range(1, tree.size)] == [(0,), (0, 0)]


@pytest.mark.parametrize(
    ("rows", "ids", "budget"),
    [([[-1.0], [-1.0]], [[1], [2]], 1), ([], [], 3), ([[-1.0]], [[1, 2]], 3), ([[]], [[]], 3)],
)
def test_refused(rows: Rows, ids: list[list[int]], budget: int) -> None:
    with pytest.raises(ValueError, match=r"spine|shaped"):
        build_tree(rows, ids, ROOT, budget)
