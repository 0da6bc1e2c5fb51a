"""Acceptance: walk from the root along the tokens that the target itself chose at each node.

For greedy decoding the choice is the argmax; for sampling it is one independent draw per node from the target's distribution
there. The tree is fixed before any draw, and the walk only looks at the draws on its own path, so the committed text has exactly
the distribution of plain sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .tree import DraftTree


@dataclass(frozen=True, slots=True)
class Acceptance:
    """`nodes`: accepted indices in path order, root first: their KV stays. `tokens`: what is appended to the text, bonus last."""

    nodes: tuple[int, ...]
    tokens: tuple[int, ...]


def walk(tree: DraftTree, choices: Sequence[int], limit: int | None = None) -> Acceptance:
    """Walk the tree. `choices` holds the target's token at each node; `limit` caps the accepted draft tokens."""
    nodes = [0]
    tokens = [choices[0]]
    while limit is None or len(tokens) <= limit:
        child = _child(tree, nodes[-1], tokens[-1])
        if child is None:
            break
        nodes.append(child)
        tokens.append(choices[child])
    return Acceptance(tuple(nodes), tuple(tokens))


def _child(tree: DraftTree, parent: int, token: int) -> int | None:
    for node in range(1, tree.size):
        if tree.parents[node] == parent and tree.tokens[node] == token:
            return node
    return None
