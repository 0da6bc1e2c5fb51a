"""A small trained pair grown to a real model's size that computes the same function: real cost, real acceptance.

- Wider: new dimensions of the residual stream stay zero. RMS norms divide by the square root of a mean that is `ratio` times
  smaller, so their weights (and the square root of epsilon) shrink by sqrt(ratio): exact in bfloat16 if ratio is a power of 4.
- More heads and a wider feed-forward: new parts work on real data with random weights, and their outputs meet zero columns.
- Deeper: layers whose output projections are zero, put before the last layer, so that the tapped layers keep their numbers.
- A larger vocabulary: one new dimension carries a tiny constant; the final norm lifts it, and the new rows of the output head
  turn it into logits that are never chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tests.gpu.training.layout import Pair, Shape
from tests.gpu.training.transformer import Weights, new_layers

CONSTANT = 2.0**-8
LIFT = 128.0
NEVER = -128.0

QWEN3_8B = Shape(layers=36, hidden=4096, intermediate=12288, heads=64, kv_heads=16, head_dim=64, vocabulary=151936)
"""The arithmetic of Qwen3-8B (its 32 heads of 128 as 64 of 64: as many columns)."""


@dataclass(frozen=True, slots=True)
class Growth:
    """From which pair to which; raises ValueError for sizes that can't be reached exactly."""

    small: Pair
    large: Pair

    def __post_init__(self) -> None:
        one, two = self.small.target, self.large.target
        ratio = two.hidden // one.hidden
        if ratio * one.hidden != two.hidden or ratio < 4 or ratio & (ratio - 1) or ratio.bit_length() % 2 == 0:
            raise ValueError(f"hidden size {two.hidden} is not a power of 4 times {one.hidden}")
        if one.heads * two.kv_heads != two.heads * one.kv_heads or one.head_dim != two.head_dim:
            raise ValueError("heads per key head, and the head's size, must stay")

    @property
    def ratio(self) -> int:
        return self.large.target.hidden // self.small.target.hidden


def grown_pair(small: Pair, size: Shape, draft_layers: int) -> Pair:
    """The large pair: same block and taps, epsilon shrunk like the mean squares of a wider stream."""
    epsilon = small.epsilon * small.target.hidden / size.hidden
    return replace(small, target=size, draft=replace(size, layers=draft_layers), epsilon=epsilon)


def target_parts(growth: Growth, weights: Weights, device: str) -> Iterator[Weights]:
    """The large target, a layer at a time, embedding and output head last."""
    yield from _layers(growth, weights, "model.", growth.small.target, growth.large.target, device)
    small, large = growth.small.target, growth.large.target
    embedding = _placed(weights["model.embed_tokens.weight"], large.vocabulary, large.hidden)
    embedding[:, small.hidden] = CONSTANT
    head = _placed(weights["lm_head.weight"], large.vocabulary, large.hidden)
    head[small.vocabulary :, small.hidden] = NEVER
    yield {
        "model.embed_tokens.weight": embedding,
        "lm_head.weight": head,
        "model.norm.weight": _lifted(growth, weights["model.norm.weight"]),
    }


def draft_parts(growth: Growth, weights: Weights, device: str) -> Iterator[Weights]:
    """The large drafter likewise."""
    yield from _layers(growth, weights, "", growth.small.draft, growth.large.draft, device)
    small, large = growth.small.draft.hidden, growth.large.draft.hidden
    taps = [_placed(part, large, large) for part in weights["fc.weight"].split(small, 1)]
    yield {
        "fc.weight": torch.cat(taps, 1),
        "hidden_norm.weight": _norm(growth, weights["hidden_norm.weight"]),
        "norm.weight": _lifted(growth, weights["norm.weight"]),
    }


def _layers(growth: Growth, weights: Weights, prefix: str, small: Shape, large: Shape, device: str) -> Iterator[Weights]:
    for number in range(large.layers):
        source = number if number < small.layers - 1 else small.layers - 1 if number == large.layers - 1 else None
        yield {
            f"{prefix}layers.{number}.{name}": weight
            for name, weight in _layer(growth, weights, prefix, source, number, replace(large, layers=1), device).items()
        }


def _layer(
    growth: Growth, weights: Weights, prefix: str, source: int | None, seed: int, shape: Shape, device: str
) -> dict[str, Tensor]:
    """One layer by its names within the layer; random where it isn't the trained one, silent where that would be heard."""
    draw = torch.Generator(device).manual_seed(seed)
    fresh = {name.removeprefix("layers.0."): weight.to(device) for name, weight in new_layers(shape, "", draw).items()}
    if source is None:
        return {name: _grown(growth, name, weight, None) for name, weight in fresh.items()}
    trained = {name: weights[f"{prefix}layers.{source}.{name}"].to(device) for name in fresh}
    return {name: _grown(growth, name, weight, trained[name]) for name, weight in fresh.items()}


def _grown(growth: Growth, name: str, fresh: Tensor, trained: Tensor | None) -> Tensor:
    """A layer's weight from a random one of the large size and, in the trained layers, the small one."""
    if name.endswith("layernorm.weight"):
        return _norm(growth, fresh[: growth.small.target.hidden] if trained is None else trained)
    if name.endswith(("o_proj.weight", "down_proj.weight")):
        fresh = torch.zeros_like(fresh)
    if trained is None:
        return fresh
    if trained.dim() == 1:
        return trained
    fresh[: trained.shape[0], : trained.shape[1]] = trained
    return fresh


def _placed(weight: Tensor, rows: int, columns: int) -> Tensor:
    """The weight in the upper left corner of zeros."""
    placed = torch.zeros(rows, columns, dtype=weight.dtype, device=weight.device)
    placed[: weight.shape[0], : weight.shape[1]] = weight
    return placed


def _norm(growth: Growth, weight: Tensor) -> Tensor:
    grown = torch.zeros(growth.large.target.hidden, dtype=weight.dtype, device=weight.device)
    grown[: len(weight)] = weight / growth.ratio**0.5
    return grown


def _lifted(growth: Growth, weight: Tensor) -> Tensor:
    grown = _norm(growth, weight)
    grown[len(weight)] = LIFT
    return grown
