"""A DDTree: the most likely continuations of one block, as a tree of at most `budget` nodes (arXiv 2604.12989)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """One drafted token. `parent` is an index into the tree, -1 for the root; depth 1 follows the committed token."""

    token: int
    parent: int
    depth: int


def build_tree(candidates: Sequence[Sequence[tuple[int, float]]], budget: int) -> list[Node]:
    """Build the tree from candidates per depth, best first. Every node comes after its parent.

    The chain of first choices is reserved before all else, so that acceptance never falls below the chain's own.
    """
    nodes: list[Node] = []
    weight = 0.0
    heap: list[tuple[float, int, int, int]] = []  # (-weight, parent, depth, rank)
    for depth, row in enumerate(candidates[:budget], 1):
        parent = len(nodes) - 1
        weight += row[0][1]
        nodes.append(Node(row[0][0], parent, depth))
        if len(row) > 1:
            heapq.heappush(heap, (-(weight - row[0][1] + row[1][1]), parent, depth, 1))
    while heap and len(nodes) < budget:
        negative, parent, depth, rank = heapq.heappop(heap)
        row = candidates[depth - 1]
        nodes.append(Node(row[rank][0], parent, depth))
        if rank + 1 < len(row):
            heapq.heappush(heap, (negative + row[rank][1] - row[rank + 1][1], parent, depth, rank + 1))
        if depth < len(candidates):
            heapq.heappush(heap, (negative - candidates[depth][0][1], len(nodes) - 1, depth + 1, 0))
    return nodes


def accept(nodes: Sequence[Node], predicted: Sequence[int]) -> list[int]:
    """Walk from the root along the target's tokens; gives the committed ones, the bonus last.

    `predicted[0]` is the target's token after the root, `predicted[i + 1]` the one after node i.
    """
    children = {(node.parent, node.token): index for index, node in enumerate(nodes)}
    committed, at = [], -1
    while True:
        token = predicted[at + 1]
        committed.append(token)
        step = children.get((at, token))
        if step is None:
            return committed
        at = step
