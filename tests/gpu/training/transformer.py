"""Functional pieces of a Qwen3 layer over a flat table of weights by the checkpoint's names: what is trained is saved."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from tests.gpu.training.layout import NORM_EPSILON, ROPE_BASE, Shape

Weights = dict[str, Tensor]


def new_layers(shape: Shape, prefix: str, draw: torch.Generator) -> Weights:
    """Fresh weights of all layers: normal with deviation 0.02, outputs into the residual stream scaled down by depth."""
    query, key, hidden, inner = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim, shape.hidden, shape.intermediate
    deviation, narrow = 0.02, 0.02 / (2 * shape.layers) ** 0.5
    weights: Weights = {}
    for layer in range(shape.layers):
        name = f"{prefix}layers.{layer}."
        for part, rows, columns, spread in (
            ("self_attn.q_proj", query, hidden, deviation),
            ("self_attn.k_proj", key, hidden, deviation),
            ("self_attn.v_proj", key, hidden, deviation),
            ("self_attn.o_proj", hidden, query, narrow),
            ("mlp.gate_proj", inner, hidden, deviation),
            ("mlp.up_proj", inner, hidden, deviation),
            ("mlp.down_proj", hidden, inner, narrow),
        ):
            weights[f"{name}{part}.weight"] = normal(draw, rows, columns, deviation=spread)
        for part, size in (("self_attn.q_norm", shape.head_dim), ("self_attn.k_norm", shape.head_dim)):
            weights[f"{name}{part}.weight"] = torch.ones(size)
        for part in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{name}{part}.weight"] = torch.ones(hidden)
    return weights


def normal(draw: torch.Generator, *size: int, deviation: float) -> Tensor:
    return torch.randn(*size, generator=draw, device=draw.device) * deviation


def norm(x: Tensor, weight: Tensor) -> Tensor:
    """RMS norm over the last dimension, in float32."""
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * weight


def rotary(positions: Tensor, head_dim: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines [..., head_dim] of integer positions [...], both halves alike (NeoX style)."""
    steps = torch.arange(0, head_dim, 2, device=positions.device, dtype=torch.float32)
    angles = positions[..., None].float() * ROPE_BASE ** (-steps / head_dim)
    return torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary embedding of x [batch, heads, tokens, head_dim] by tables [batch, tokens, head_dim]."""
    left, right = x.chunk(2, -1)
    return x * cosine[:, None] + torch.cat((-right, left), -1) * sine[:, None]


def heads(weights: Weights, name: str, x: Tensor, count: int, size: int) -> Tensor:
    """A projection of x [batch, tokens, hidden], split into heads [batch, count, tokens, size]."""
    return F.linear(x, weights[f"{name}.weight"]).view(x.shape[0], x.shape[1], count, size).transpose(1, 2)


def keys_and_values(weights: Weights, name: str, x: Tensor, shape: Shape, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Normed and rotated keys, and values, of `name` (".self_attn." and before)."""
    key = heads(weights, f"{name}k_proj", x, shape.kv_heads, shape.head_dim)
    value = heads(weights, f"{name}v_proj", x, shape.kv_heads, shape.head_dim)
    return rotate(norm(key, weights[f"{name}k_norm.weight"]), *turn).to(value.dtype), value


def queries(weights: Weights, name: str, x: Tensor, shape: Shape, turn: tuple[Tensor, Tensor]) -> Tensor:
    query = heads(weights, f"{name}q_proj", x, shape.heads, shape.head_dim)
    return rotate(norm(query, weights[f"{name}q_norm.weight"]), *turn).to(query.dtype)


def attend(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None) -> Tensor:
    """Attention [batch, tokens, heads * size]; `allowed` is a boolean mask, None means causal."""
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    mixed: Tensor = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed, is_causal=allowed is None)
    return mixed.transpose(1, 2).flatten(2)


def feed_forward(weights: Weights, name: str, x: Tensor) -> Tensor:
    """SwiGLU of `name` (".mlp." and before)."""
    gate = F.silu(F.linear(x, weights[f"{name}gate_proj.weight"]))
    return F.linear(gate * F.linear(x, weights[f"{name}up_proj.weight"]), weights[f"{name}down_proj.weight"])
