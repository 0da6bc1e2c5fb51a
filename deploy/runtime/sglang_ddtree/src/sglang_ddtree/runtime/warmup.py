"""Compile the kernels of all widths at start, so that no request waits for a compiler."""

from __future__ import annotations

import torch

from ..ddtree.widths import WidthTable
from .commit import commit_paths, walk_trees
from .grow import TreeBuffers, grow_trees


def warm_up(table: WidthTable, device: torch.device | str) -> None:
    """Build, walk and commit one small batch of every width, in memory of its own."""
    for width in sorted({entry.width for entry in table.verify}):
        _run(table, width, device)
    torch.cuda.synchronize()


def _run(table: WidthTable, width: int, device: torch.device | str) -> None:
    batch, block, topk = 2, table.block_size, min(table.topk, width - 1)
    trees = TreeBuffers.allocate(batch, width, device)
    scores = torch.zeros((batch, table.depth, topk), dtype=torch.float32, device=device)
    ids = torch.zeros((batch, table.depth, topk), dtype=torch.int64, device=device)
    ones = torch.ones((batch,), dtype=torch.int64, device=device)
    mask = torch.zeros((batch * width * (1 + width),), dtype=torch.uint8, device=device)
    grow_trees(scores, ids, ones, ones, trees, mask)
    path = walk_trees(trees, trees.tokens.view(-1), block, torch.zeros((batch,), dtype=torch.int32, device=device))
    slots = torch.arange(batch * width, dtype=torch.int64, device=device).view(batch, width)
    table_rows = torch.zeros((batch + 1, block + 2), dtype=torch.int32, device=device)
    commit_paths(path, ones, batch, slots, ones, ones, table_rows)
