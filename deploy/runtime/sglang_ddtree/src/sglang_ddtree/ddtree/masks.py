"""What each node of a draft tree may see, and where it stands in the text."""

from __future__ import annotations

from collections.abc import Sequence

from .tree import NO_PARENT, DraftTree


def ancestors(tree: DraftTree, node: int) -> tuple[int, ...]:
    """Indices from `node` itself up to the root; a padding node has only itself."""
    path = [node]
    while tree.parents[path[-1]] != NO_PARENT:
        path.append(tree.parents[path[-1]])
    return tuple(path)


def visible(tree: DraftTree) -> tuple[tuple[bool, ...], ...]:
    """Square mask [node][node]: a node sees its ancestors and itself, nothing else of the tree."""
    rows = []
    for node in range(len(tree.tokens)):
        seen = set(ancestors(tree, node))
        rows.append(tuple(other in seen for other in range(len(tree.tokens))))
    return tuple(rows)


def positions(tree: DraftTree, prefix_length: int) -> tuple[int, ...]:
    """Position of each node, for rotary embedding: prefix length (in tokens, root not included) plus depth."""
    return tuple(prefix_length + depth for depth in tree.depths)


def flat_offset(prefix_lengths: Sequence[int], request: int, width: int) -> int:
    """Where a request's mask starts in SGLang's flat mask: each earlier one took `width` rows of prefix + width columns.

    Source: sglang 0.5.13.post1, srt/layers/attention/triton_backend.py (`mask_indptr`).
    """
    return sum(width * (length + width) for length in prefix_lengths[:request])
