"""The k best tokens per depth from the drafter's hidden states, with their log-probabilities.

Under tensor parallelism every rank holds a part of the vocabulary. Only k (score, id) pairs and one log-sum-exp per row and rank
are gathered, never the logits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton

from .candidates_kernel import chunk_kernel, merge_kernel

_KERNEL_TOPK = 16  # beyond it, one maximum per rank costs more than a sort
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Candidates:
    """`scores` float32 (log-probabilities) and `ids` int64, both [rows, k], contiguous, descending."""

    scores: torch.Tensor
    ids: torch.Tensor


@dataclass(frozen=True, slots=True)
class VocabularyShard:
    """Which rows of the head's weight are real tokens of this rank: [base vocabulary, padding, added tokens, padding]."""

    base_count: int
    base_first_id: int
    added_row: int
    added_count: int
    added_first_id: int

    @classmethod
    def of(cls, lm_head: Any) -> VocabularyShard:
        """Read SGLang's `shard_indices` (srt/layers/vocab_parallel_embedding.py)."""
        shard = lm_head.shard_indices
        return cls(
            base_count=int(shard.num_org_elements),
            base_first_id=int(shard.org_vocab_start_index),
            added_row=int(shard.num_org_elements_padded),
            added_count=int(shard.num_added_elements),
            added_first_id=int(shard.added_vocab_start_index),
        )

    def global_ids(self, local: torch.Tensor) -> torch.Tensor:
        """Token ids of columns of the logits that `logits` returned."""
        if not self.added_count:
            return local + self.base_first_id
        added = local - self.base_count + self.added_first_id
        return torch.where(local < self.base_count, local + self.base_first_id, added)

    def logits(self, hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Logits of this rank's real tokens: [rows, base + added]. Padding rows never take part."""
        hidden = hidden.to(weight.dtype)
        base = torch.matmul(hidden, weight[: self.base_count].T)
        if not self.added_count:
            return base
        return torch.cat((base, torch.matmul(hidden, weight[self.added_row : self.added_row + self.added_count].T)), dim=1)


def best_tokens(hidden: torch.Tensor, lm_head: Any, topk: int, group: Any) -> Candidates:
    """The k best tokens per row of `hidden` [rows, hidden size]; `group` is SGLang's tensor-parallel group.

    Every rank gets the same answer. Where a rank has fewer than k tokens, the missing ones weigh -inf.
    """
    shard = VocabularyShard.of(lm_head)
    logits = shard.logits(hidden, lm_head.weight)
    values, local, normaliser = top_of(logits, min(topk, logits.shape[1]))
    ids = shard.global_ids(local)
    if group.world_size > 1:
        values, ids, normaliser = _gather(values, ids, normaliser, topk, group)
    return Candidates((values - normaliser).contiguous(), ids.contiguous())


def top_of(logits: torch.Tensor, topk: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Per row of `logits` [rows, vocabulary]: k best (float32, descending), their columns (int64), log-sum-exp [rows, 1]."""
    if topk > _KERNEL_TOPK or not logits.is_cuda:
        values, columns = torch.topk(logits, topk, dim=1)
        return values.float(), columns, torch.logsumexp(logits.float(), dim=1, keepdim=True)
    rows, vocabulary = logits.shape
    chunk = min(_CHUNK, max(32, triton.next_power_of_2(vocabulary)))
    chunks = triton.cdiv(vocabulary, chunk)
    device = logits.device
    part_values = torch.empty((rows, chunks, topk), dtype=torch.float32, device=device)
    part_columns = torch.empty((rows, chunks, topk), dtype=torch.int32, device=device)
    sums = torch.empty((rows, chunks, 2), dtype=torch.float32, device=device)
    chunk_kernel[(rows, chunks)](
        logits, logits.stride(0), vocabulary, part_values, part_columns, sums, K=topk, CHUNK=chunk, num_warps=4
    )
    values = torch.empty((rows, topk), dtype=torch.float32, device=device)
    columns = torch.empty((rows, topk), dtype=torch.int64, device=device)
    normalisers = torch.empty((rows, 1), dtype=torch.float32, device=device)
    lanes = max(32, triton.next_power_of_2(chunks * topk))
    merge_kernel[(rows,)](part_values, part_columns, sums, chunks, values, columns, normalisers, K=topk, LANES=lanes, num_warps=1)
    return values, columns, normalisers


def _gather(
    values: torch.Tensor, ids: torch.Tensor, normaliser: torch.Tensor, topk: int, group: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows, ranks = values.shape[0], int(group.world_size)
    missing = topk - values.shape[1]
    if missing > 0:
        values = torch.nn.functional.pad(values, (0, missing), value=float("-inf"))
        ids = torch.nn.functional.pad(ids, (0, missing))
    mine = torch.cat((values, normaliser, ids.to(torch.int32).view(torch.float32)), dim=1).contiguous()
    everyone = torch.empty((ranks * rows, mine.shape[1]), dtype=torch.float32, device=mine.device)
    group.all_gather_into_tensor(everyone, mine)
    everyone = everyone.view(ranks, rows, -1).transpose(0, 1)
    all_values = everyone[:, :, :topk].reshape(rows, ranks * topk)
    all_ids = everyone[:, :, topk + 1 :].contiguous().view(torch.int32).reshape(rows, ranks * topk)
    best, at = torch.topk(all_values, topk, dim=1)
    return best, all_ids.gather(1, at).to(torch.int64), torch.logsumexp(everyone[:, :, topk], dim=1, keepdim=True)
