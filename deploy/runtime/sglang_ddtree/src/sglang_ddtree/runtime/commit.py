"""Acceptance on the GPU: the walk before the step's one read-back, the remapping of KV slots after it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton

from .commit_kernel import commit_kernel, walk_kernel
from .grow import TreeBuffers


@dataclass(frozen=True, slots=True)
class Committed:
    """Nodes kept in a step, over all requests in path order; one entry per committed token (root and accepted drafts)."""

    rows: torch.Tensor
    """int64: index into the verify pass's rows [batch * width]."""
    slots: torch.Tensor
    positions: torch.Tensor
    freed: torch.Tensor
    """int64: KV slots of all other nodes."""


def walk_trees(trees: TreeBuffers, choices: torch.Tensor, block_size: int, limits: torch.Tensor) -> torch.Tensor:
    """Walk all trees along `choices` (the target's token at each node, [batch * width]).

    Returns int32 [batch, 2 * block + 1]: number of accepted drafts; their nodes, root first; the tokens to append, bonus last.
    Entries behind the accepted ones repeat the last one. `limits` int32 [batch] caps the accepted drafts.
    """
    batch = trees.tokens.shape[0]
    path = torch.empty((batch, 2 * block_size + 1), dtype=torch.int32, device=choices.device)
    walk_kernel[(batch,)](
        trees.tokens,
        trees.parents,
        choices,
        path,
        limits,
        WIDTH=trees.width,
        LANES=max(32, triton.next_power_of_2(trees.width)),
        BLOCK=block_size,
        num_warps=1,
    )
    return path


def commit_paths(
    path: torch.Tensor,
    commit_lens: torch.Tensor,
    total: int,
    slots: torch.Tensor,
    prefix_lens: torch.Tensor,
    pool_rows: torch.Tensor,
    req_to_token: torch.Tensor,
) -> Committed:
    """Map the kept nodes' slots behind each request's prefix, and list what to free. No KV moves.

    `commit_lens` int64 [batch] sums up to `total`; `slots` is [batch, width]; `req_to_token` is SGLang's table, changed in place.
    """
    batch, width = slots.shape
    kept = torch.empty((3, total), dtype=torch.int64, device=slots.device)
    freed = torch.empty((batch * width - total,), dtype=torch.int64, device=slots.device)
    commit_kernel[(batch,)](
        path,
        commit_lens,
        slots,
        prefix_lens,
        pool_rows,
        req_to_token,
        req_to_token.stride(0),
        kept[0],
        kept[1],
        kept[2],
        freed,
        WIDTH=width,
        LANES=max(32, triton.next_power_of_2(width)),
        BLOCK=(path.shape[1] - 1) // 2,
        num_warps=1,
    )
    return Committed(kept[0], kept[1], kept[2], freed)
