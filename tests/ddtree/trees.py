"""Inputs for trees, random and adversarial, and an exhaustive builder to compare with."""

from __future__ import annotations

import itertools
import math

from hypothesis import strategies as st

from sglang_ddtree.ddtree.tree import single

Rows = list[list[float]]

_SCORE = st.one_of(
    st.floats(min_value=-20, max_value=0, width=32),
    st.sampled_from([-0.5, -1.0, -2.0, -math.inf]),
)


@st.composite
def score_rows(draw: st.DrawFn) -> Rows:
    """Scores per depth in descending order: ties and -inf are frequent."""
    depth = draw(st.integers(1, 5))
    k = draw(st.integers(1, 4))
    return [sorted(draw(st.lists(_SCORE, min_size=k, max_size=k)), reverse=True) for _ in range(depth)]


def token_ids(rows: Rows) -> list[list[int]]:
    """Ids that tell depth and rank: 100 * depth + rank."""
    return [[100 * depth + rank for rank in range(len(row))] for depth, row in enumerate(rows, start=1)]


def weight(rows: Rows, ranks: tuple[int, ...]) -> float:
    """Weight of a node by its ranks, added in float32 from the root on."""
    total = 0.0
    for row, rank in zip(rows, ranks, strict=False):
        total = single(total + single(row[rank]))
    return total


def all_nodes(rows: Rows) -> list[tuple[int, ...]]:
    """Every node there could be, as its ranks."""
    sizes = [range(len(row)) for row in rows]
    return [ranks for depth in range(1, len(rows) + 1) for ranks in itertools.product(*sizes[:depth])]
