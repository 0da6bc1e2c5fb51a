"""The draft tree (DDTree, arXiv 2604.12989), as the reference that the GPU builder has to equal.

A block drafter gives, for every depth d = 1..L, log-probabilities that don't depend on the tokens chosen before. So a node is a
sequence of ranks (r1..rd) and weighs the sum of its ranks' log-probabilities; a best-first search emits the heaviest nodes.

Order, which both builders share: the spine (the rank-0 token of every depth: DFlash's own chain) comes first, then the heaviest
candidate each time. Candidates wait in numbered places, and of equals the lower place wins: the first child of node e waits in
place e, and a sibling takes the place that its elder brother left.
"""

from __future__ import annotations

import heapq
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

NO_PARENT = -1
"""Parent of the root, and of padding nodes, so that nobody can ever step onto them."""


@dataclass(frozen=True, slots=True)
class DraftTree:
    """Verify input of one request. Index 0 is the root, the last committed token; all tuples have budget + 1 entries."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    depths: tuple[int, ...]
    size: int
    """Nodes that are real, root included; those after them are padding."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    parent: int
    parent_weight: float
    depth: int
    rank: int


def build_tree(scores: Sequence[Sequence[float]], ids: Sequence[Sequence[int]], root: int, budget: int) -> DraftTree:
    """Build the tree of one request.

    `scores` and `ids` hold, per depth (L rows), the k best log-probabilities in descending order and their token ids.
    Nodes of probability zero (-inf) and scores that aren't numbers are never emitted, except on the spine. Raises ValueError if
    the spine doesn't fit the budget or the shapes differ.
    """
    depth_limit = len(scores)
    if depth_limit < 1 or depth_limit > budget:
        raise ValueError(f"a spine of {depth_limit} nodes needs a budget of at least that, got {budget}")
    if len(ids) != depth_limit or any(len(row) != len(tokens) or not row for row, tokens in zip(scores, ids, strict=True)):
        raise ValueError("scores and ids must be equally shaped and not empty")
    grower = _Grower(scores, ids, root)
    grower.plant_spine()
    while len(grower.tokens) <= budget and grower.emit():
        pass
    size = len(grower.tokens)
    padding = budget + 1 - size
    return DraftTree(
        tokens=(*grower.tokens, *[root] * padding),
        parents=(*grower.parents, *[NO_PARENT] * padding),
        depths=(*grower.depths, *[0] * padding),
        size=size,
    )


class _Grower:
    def __init__(self, scores: Sequence[Sequence[float]], ids: Sequence[Sequence[int]], root: int) -> None:
        self._scores = scores
        self._ids = ids
        self._waiting: list[tuple[float, int, _Candidate]] = []
        self.tokens = [root]
        self.parents = [NO_PARENT]
        self.depths = [0]

    def plant_spine(self) -> None:
        weight = 0.0
        for depth in range(1, len(self._scores) + 1):
            node = self._add(parent=depth - 1, depth=depth, rank=0)
            self._wait(node, _Candidate(depth - 1, weight, depth, 1))
            weight = single(weight + self._score(depth, 0))

    def emit(self) -> bool:
        """Emit the heaviest candidate and let its next sibling and first child wait. False if there was none."""
        if not self._waiting:
            return False
        negated, place, best = heapq.heappop(self._waiting)
        node = self._add(best.parent, best.depth, best.rank)
        self._wait(place, _Candidate(best.parent, best.parent_weight, best.depth, best.rank + 1))
        self._wait(node, _Candidate(node, -negated, best.depth + 1, 0))
        return True

    def _add(self, parent: int, depth: int, rank: int) -> int:
        self.tokens.append(self._ids[depth - 1][rank])
        self.parents.append(parent)
        self.depths.append(depth)
        return len(self.tokens) - 1

    def _wait(self, place: int, candidate: _Candidate) -> None:
        weight = single(candidate.parent_weight + self._score(candidate.depth, candidate.rank))
        if weight > -math.inf:
            heapq.heappush(self._waiting, (-weight, place, candidate))

    def _score(self, depth: int, rank: int) -> float:
        """Log-probability as float32; -inf where there is no such node or the number is none."""
        if depth > len(self._scores) or rank >= len(self._scores[depth - 1]):
            return -math.inf
        score = single(self._scores[depth - 1][rank])
        return -math.inf if math.isnan(score) else score


def single(value: float) -> float:
    """Round to float32, in which the GPU adds. Beyond its range: infinity, as there."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
