"""Feed the drafter: turn the target's hidden states at committed tokens into the drafter's own KV.

Done at the end of every step, before the radix cache may learn of the new tokens, so that a later request with the same prefix
finds the drafter's context, too.
"""

from __future__ import annotations

from typing import Any

import torch
from sglang.srt.speculative.triton_ops.fused_kv_materialize import _fused_norm_rope


def append_context(worker: Any, hidden: torch.Tensor, slots: torch.Tensor, positions: torch.Tensor, longest: int) -> None:
    """Write the drafter's KV for `hidden` [tokens, features] into `slots`, for text positions `positions`.

    `longest` is a bound of the positions known on the CPU, so that nothing has to be read back.
    """
    with torch.inference_mode():
        context = worker.draft_model.project_target_hidden(hidden)
        helper = worker._fused_kv_helper if worker._use_fused_kv_materialize else None
        if helper is None:
            worker._append_target_hidden_sequential(context, positions, slots)
            return
        _append_fused(worker, helper, context, slots, positions, longest)


def _append_fused(
    worker: Any, helper: Any, context: torch.Tensor, slots: torch.Tensor, positions: torch.Tensor, longest: int
) -> None:
    rotary = helper.rotary_emb
    ensure = getattr(rotary, "_ensure_cos_sin_cache_length", None)
    if callable(ensure):
        ensure(longest)
    table = rotary.cos_sin_cache
    if longest >= int(table.shape[0]):
        raise RuntimeError(f"DDTREE draft: position {longest} is beyond the drafter's rotary table of {int(table.shape[0])}")
    pool = worker.draft_model_runner.token_to_kv_pool
    projected = torch.einsum("th,loh->lto", context, helper.batched_kv_weight)
    for index, layer in enumerate(worker.draft_model.layers):
        keys, values = _fused_norm_rope(
            projected[index],
            helper.k_norm_weights[index],
            table,
            positions,
            helper.num_kv_heads,
            helper.head_dim,
            helper.rotary_dim,
            helper.eps_values[index],
        )
        attention = layer.self_attn.attn
        pool.set_kv_buffer(attention, slots, keys, values, attention.k_scale, attention.v_scale)
