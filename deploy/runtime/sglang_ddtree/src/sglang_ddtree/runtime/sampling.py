"""The target's token at every node of the tree: argmax, or one draw from its distribution, by SGLang's own sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from sglang.srt.layers.sampler import apply_custom_logit_processor


@dataclass(frozen=True, slots=True)
class NodeSampling:
    """SGLang's sampling settings, once per node instead of once per request (the fields its sampler reads)."""

    temperatures: torch.Tensor
    top_ks: torch.Tensor
    top_ps: torch.Tensor
    min_ps: torch.Tensor
    need_top_k_sampling: bool
    need_top_p_sampling: bool
    need_min_p_sampling: bool
    sampling_seed: torch.Tensor | None

    @classmethod
    def of(cls, info: Any, width: int) -> NodeSampling:
        """Repeat a batch's SamplingBatchInfo for `width` nodes each."""

        def each(values: torch.Tensor) -> torch.Tensor:
            return values.repeat_interleave(width, dim=0)

        return cls(
            each(info.temperatures),
            each(info.top_ks),
            each(info.top_ps),
            each(info.min_ps),
            info.need_top_k_sampling,
            info.need_top_p_sampling,
            info.need_min_p_sampling,
            None if info.sampling_seed is None else each(info.sampling_seed),
        )


def adjust_logits(logits: torch.Tensor, info: Any, width: int) -> None:
    """Apply custom processors, penalties and logit bias in place; `logits` is [batch * width, vocabulary].

    Penalties depend on all tokens before: of a request with penalties only the root's row is right, so it accepts no drafts.
    """
    if info.has_custom_logit_processor:
        apply_custom_logit_processor(logits, info, num_tokens_in_batch=width)
    rows = logits.view(len(info), width, -1)
    if info.penalizer_orchestrator.is_required:
        roots = rows[:, 0].clone()
        info.apply_logits_bias(roots)
        rows[:, 0].copy_(roots)
        rows = rows[:, 1:]
    if info.logit_bias is not None:
        rows.add_(info.logit_bias.unsqueeze(1))


def choose(logits: torch.Tensor, positions: torch.Tensor, info: Any, sampler: Any, group: Any, width: int) -> torch.Tensor:
    """The target's token at each node: int [batch * width].

    Draws at different nodes are independent, which is all that the walk needs to keep the distribution. Ranks draw apart from
    each other, so rank 0's draws count for all.
    """
    if info is None or info.is_all_greedy:
        return torch.argmax(logits, dim=-1)
    nodes = NodeSampling.of(info, width)
    probabilities = torch.softmax(logits.float().div_(nodes.temperatures), dim=-1)
    simple = not (nodes.need_top_k_sampling or nodes.need_top_p_sampling or nodes.need_min_p_sampling)
    drawn: torch.Tensor = sampler._sample_from_probs(probabilities, nodes, positions, simple).view(-1).to(torch.int64)
    if group.world_size > 1:
        group.broadcast(drawn, src=0)
    return drawn
