"""One pass of the block drafter: from the last committed tokens to hidden states for the depths 1..L."""

from __future__ import annotations

from typing import Any

import torch
from sglang.srt.model_executor.forward_batch_info import CaptureHiddenMode, ForwardBatch, ForwardMode
from sglang.srt.speculative.dflash_info import DFlashVerifyInput
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm
from sglang.srt.speculative.spec_utils import assign_req_to_token_pool_func


class Drafter:
    """Runs the draft model over a block of mask tokens behind each request's text.

    The block's KV slots are borrowed from the pool for the pass and given back at once: the drafter's context is only ever made
    of the target's hidden states.
    """

    def __init__(self, model_runner: Any, block_size: int, mask_token: int, device: torch.device | str) -> None:
        self._runner = model_runner
        self._block = block_size
        self._mask_token = mask_token
        self._device = device
        self._offsets = torch.arange(block_size, device=device, dtype=torch.int64)
        self._spec_info = DFlashVerifyInput(
            draft_token=torch.empty((0,), dtype=torch.int64, device=device),
            positions=torch.empty((0,), dtype=torch.int64, device=device),
            draft_token_num=block_size,
            custom_mask=None,
            capture_hidden_mode=CaptureHiddenMode.NULL,
        )

    def hidden_states(
        self, batch: Any, roots: torch.Tensor, draft_lens: torch.Tensor, lens_cpu: torch.Tensor, lens_sum: int, embed: Any
    ) -> torch.Tensor:
        """Hidden states [batch, L, hidden] of the masked positions.

        `roots` int64 [batch]: last committed tokens. `draft_lens` int32 [batch]: context the drafter holds; `lens_cpu` and
        `lens_sum` say the same on the CPU. Raises RuntimeError if the pool has no room for the block.
        """
        size = roots.shape[0]
        block = torch.full((size, self._block), self._mask_token, dtype=torch.int64, device=self._device)
        block[:, 0] = roots
        embeds = embed(block)
        allocator = self._runner.token_to_kv_pool_allocator
        state = allocator.backup_state()
        try:
            slots = allocator.alloc(size * self._block)
            if slots is None:
                raise RuntimeError(f"DDTREE draft: no room for {size * self._block} block tokens in the KV pool")
            assign_req_to_token_pool_func(
                batch.req_pool_indices,
                self._runner.req_to_token_pool.req_to_token,
                draft_lens,
                draft_lens + self._block,
                slots,
                size,
            )
            forward_batch = ForwardBatch(
                forward_mode=ForwardMode.TARGET_VERIFY,
                batch_size=size,
                input_ids=block.view(-1),
                req_pool_indices=batch.req_pool_indices,
                seq_lens=draft_lens,
                out_cache_loc=slots,
                seq_lens_sum=lens_sum,
                seq_lens_cpu=lens_cpu,
                positions=(batch.seq_lens.unsqueeze(1) + self._offsets).view(-1),
                input_embeds=embeds.view(-1, embeds.shape[-1]),
                spec_algorithm=SpeculativeAlgorithm.DFLASH,
                spec_info=self._spec_info,
                capture_hidden_mode=CaptureHiddenMode.NULL,
            )
            with torch.inference_mode():
                output = self._runner.forward(forward_batch).logits_output
        finally:
            allocator.restore_state(state)
        hidden = output.hidden_states
        if hidden is None:
            raise RuntimeError("DDTREE draft: the draft model returned no hidden states")
        return hidden.view(size, self._block, -1)[:, 1:, :]
