"""The DFlash drafter: a block of one known token and masks, filled in one pass, with the target's hidden states as context.

As SGLang 0.5.13.post1 runs it (speculative/dflash_worker.py): a context token's keys and values come from
`hidden_norm(fc(hidden))` without the layer's input norm; the block's tokens see the whole context before the block and the
whole block (not causal); the masks' outputs go through the target's output head.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from tests.gpu.training.layout import MASK, Pair
from tests.gpu.training.transformer import (
    Weights,
    attend,
    feed_forward,
    keys_and_values,
    new_layers,
    norm,
    normal,
    queries,
    rotary,
)


def new_drafter(pair: Pair, seed: int) -> Weights:
    draw = torch.Generator().manual_seed(seed)
    hidden = pair.draft.hidden
    weights = new_layers(pair.draft, "", draw)
    weights["fc.weight"] = normal(draw, hidden, hidden * len(pair.taps), deviation=0.02)
    weights["hidden_norm.weight"], weights["norm.weight"] = torch.ones(hidden), torch.ones(hidden)
    return weights


def run_drafter(weights: Weights, target: Weights, pair: Pair, tokens: Tensor, tapped: Tensor, anchors: Tensor) -> Tensor:
    """Logits [batch, anchors, block - 1, vocabulary] for the tokens after each anchor.

    `tokens` [batch, tokens], `tapped` [batch, tokens, taps * hidden]; `anchors` [batch, count] are positions of the known
    tokens: a block sees the context strictly before its anchor.
    """
    shape, block = pair.draft, pair.block
    batch, count = anchors.shape
    known = tokens.gather(1, anchors)[..., None]
    blanks = torch.full((batch, count, block - 1), MASK, device=tokens.device, dtype=tokens.dtype)
    stream = F.embedding(torch.cat((known, blanks), -1).flatten(1), target["model.embed_tokens.weight"])
    places = (anchors[..., None] + torch.arange(block, device=tokens.device)).flatten(1)
    turn = rotary(places, shape.head_dim)
    context_turn = rotary(torch.arange(tokens.shape[1], device=tokens.device)[None], shape.head_dim)
    context = norm(F.linear(tapped, weights["fc.weight"]), weights["hidden_norm.weight"])
    allowed = block_mask(anchors, tokens.shape[1], block)
    for layer in range(shape.layers):
        name = f"layers.{layer}."
        x = norm(stream, weights[f"{name}input_layernorm.weight"])
        past = keys_and_values(weights, f"{name}self_attn.", context, shape, context_turn)
        own = keys_and_values(weights, f"{name}self_attn.", x, shape, turn)
        key, value = (torch.cat(parts, 2) for parts in zip(past, own, strict=True))
        mixed = attend(queries(weights, f"{name}self_attn.", x, shape, turn), key, value, allowed)
        stream = stream + F.linear(mixed, weights[f"{name}self_attn.o_proj.weight"])
        x = norm(stream, weights[f"{name}post_attention_layernorm.weight"])
        stream = stream + feed_forward(weights, f"{name}mlp.", x)
    final = norm(stream, weights["norm.weight"]).view(batch, count, block, -1)[:, :, 1:]
    return F.linear(final, target["lm_head.weight"])


def block_mask(anchors: Tensor, context: int, block: int) -> Tensor:
    """Who sees whom [batch, 1, anchors * block, context + anchors * block]: the context before the anchor, and its own block."""
    batch, count = anchors.shape
    before = torch.arange(context, device=anchors.device) < anchors[..., None]
    owner = torch.arange(count * block, device=anchors.device) // block
    own = (owner[:, None] == owner[None]).expand(batch, -1, -1)
    return torch.cat((before.repeat_interleave(block, 1), own), -1)[:, None]
