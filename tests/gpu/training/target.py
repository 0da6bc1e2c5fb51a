"""The target: a small Qwen3 that also hands out the hidden states a DFlash drafter is fed with."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from tests.gpu.training.layout import Pair, Shape
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


def new_target(shape: Shape, seed: int) -> Weights:
    draw = torch.Generator().manual_seed(seed)
    weights = new_layers(shape, "model.", draw)
    weights["model.embed_tokens.weight"] = normal(draw, shape.vocabulary, shape.hidden, deviation=0.02)
    weights["lm_head.weight"] = normal(draw, shape.vocabulary, shape.hidden, deviation=0.02)
    weights["model.norm.weight"] = torch.ones(shape.hidden)
    return weights


def run_target(weights: Weights, pair: Pair, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Logits [batch, tokens, vocabulary] and tapped hidden states [batch, tokens, taps * hidden] of tokens [batch, tokens].

    A tapped state is the residual stream after that layer, before any norm, as SGLang's `layers_to_capture` takes it.
    """
    shape = pair.target
    turn = rotary(torch.arange(tokens.shape[1], device=tokens.device)[None], shape.head_dim)
    stream = F.embedding(tokens, weights["model.embed_tokens.weight"])
    tapped = []
    for layer in range(shape.layers):
        name = f"model.layers.{layer}."
        x = norm(stream, weights[f"{name}input_layernorm.weight"])
        key, value = keys_and_values(weights, f"{name}self_attn.", x, shape, turn)
        mixed = attend(queries(weights, f"{name}self_attn.", x, shape, turn), key, value, None)
        stream = stream + F.linear(mixed, weights[f"{name}self_attn.o_proj.weight"])
        x = norm(stream, weights[f"{name}post_attention_layernorm.weight"])
        stream = stream + feed_forward(weights, f"{name}mlp.", x)
        if layer in pair.taps:
            tapped.append(stream)
    final = norm(stream, weights["model.norm.weight"])
    return F.linear(final, weights["lm_head.weight"]), torch.cat(tapped, -1)
