"""The batched tree builder: one launch for all requests of a step, nothing read back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton

from .grow_kernel import grow_kernel


@dataclass(frozen=True, slots=True)
class TreeBuffers:
    """What a step's trees are written into; flat per request. `width` = budget + 1."""

    width: int
    tokens: torch.Tensor
    """int64 [batch, width]; column 0 is the root."""
    parents: torch.Tensor
    """int32 [batch, width]; -1 for the root and for padding."""
    positions: torch.Tensor
    """int64 [batch, width]: prefix length + depth."""

    @classmethod
    def allocate(cls, batch: int, width: int, device: torch.device | str) -> TreeBuffers:
        """Buffers for up to `batch` requests."""
        shape = (batch, width)
        return cls(
            width,
            torch.empty(shape, dtype=torch.int64, device=device),
            torch.empty(shape, dtype=torch.int32, device=device),
            torch.empty(shape, dtype=torch.int64, device=device),
        )

    def first(self, batch: int) -> TreeBuffers:
        """Views of the first `batch` requests."""
        return TreeBuffers(self.width, self.tokens[:batch], self.parents[:batch], self.positions[:batch])


def grow_trees(
    scores: torch.Tensor, ids: torch.Tensor, roots: torch.Tensor, prefix_lens: torch.Tensor, out: TreeBuffers, mask: torch.Tensor
) -> None:
    """Build the trees of a batch.

    `scores` float32 and `ids` int64 are [batch, depth, k], contiguous, k best per depth in descending order; `roots` int64 and
    `prefix_lens` are [batch]. `mask` is SGLang's flat uint8 mask of at least sum(width * (prefix + width)) bytes: only the
    columns of the tree itself are written, for the attention kernel reads no others (every node sees the whole prefix).
    """
    batch, depth, topk = scores.shape
    grow_kernel[(batch,)](
        scores,
        ids,
        roots,
        prefix_lens,
        out.tokens,
        out.parents,
        out.positions,
        mask,
        DEPTH=depth,
        K=topk,
        WIDTH=out.width,
        LANES=max(32, triton.next_power_of_2(out.width)),
        num_warps=1,
    )
