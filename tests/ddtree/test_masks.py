"""Masks and positions: the whole prefix, the own ancestors, oneself, nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sglang_ddtree.ddtree.masks import flat_offset, positions, visible
from sglang_ddtree.ddtree.tree import build_tree
from tests.ddtree.trees import Rows, score_rows, token_ids


def test_by_hand() -> None:
    tree = build_tree([[-0.1, -2.0], [-0.5, -1.0]], [[1, 2], [3, 4]], 9, 4)
    assert tree.parents == (-1, 0, 1, 1, 0)
    assert visible(tree) == (
        (True, False, False, False, False),
        (True, True, False, False, False),
        (True, True, True, False, False),
        (True, True, False, True, False),
        (True, False, False, False, True),
    )
    assert positions(tree, 100) == (100, 101, 102, 102, 101)


@given(score_rows(), st.integers(0, 30))
def test_a_row_sees_its_parents_row_and_itself(rows: Rows, more: int) -> None:
    tree = build_tree(rows, token_ids(rows), 0, len(rows) + more)
    mask = visible(tree)
    for node in range(1, len(tree.tokens)):
        parent = tree.parents[node]
        above = mask[parent] if parent >= 0 else (False,) * len(mask)
        assert mask[node] == tuple(seen or other == node for other, seen in enumerate(above))
        assert sum(mask[node]) == tree.depths[node] + 1
    assert all(not seen for row, line in enumerate(mask) for column, seen in enumerate(line) if column > row)


@given(score_rows(), st.integers(0, 30))
def test_nobody_sees_padding(rows: Rows, more: int) -> None:
    tree = build_tree(rows, token_ids(rows), 0, len(rows) + more)
    for node, line in enumerate(visible(tree)):
        assert not any(line[other] for other in range(tree.size, len(line)) if other != node)


def test_flat_offset_counts_every_earlier_request() -> None:
    assert [flat_offset([10, 5, 7], request, 4) for request in range(3)] == [0, 4 * 14, 4 * 14 + 4 * 9]
