"""Training the target, then the drafter on the frozen target; plain AdamW, bfloat16 arithmetic over float32 weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tests.gpu.training.drafter import new_drafter, run_drafter
from tests.gpu.training.layout import Pair
from tests.gpu.training.target import new_target, run_target
from tests.gpu.training.tokens import windows
from tests.gpu.training.transformer import Weights

WARM_UP_STEPS = 100
CLIP = 1.0
# a block is accepted up to its first wrong token: a depth is worth less than the one before it
DEPTH_DECAY = 4.0
WINDOW_PACE = 96
TAPPED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Recipe:
    """Steps of one model; `seconds` ends it early (the rate falls with whichever is further)."""

    steps: int
    batch: int
    length: int
    rate: float
    seconds: float
    anchors: int = 0


@dataclass(frozen=True, slots=True)
class Learned:
    weights: Weights
    steps: int
    seconds: float
    losses: tuple[float, ...]


def learn_target(pair: Pair, tokens: Tensor, recipe: Recipe, seed: int, device: str) -> Learned:
    """A target that knows the stream `tokens` by heart, if given the time."""
    draw = torch.Generator().manual_seed(seed)
    weights = _on(new_target(pair.target, seed), device)

    def loss() -> Tensor:
        batch = windows(tokens, recipe.batch, recipe.length + 1, draw).to(device)
        logits, _ = run_target(weights, pair, batch[:, :-1])
        return F.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())

    return _train(weights, loss, recipe, device)


def learn_drafter(pair: Pair, target: Weights, tokens: Tensor, recipe: Recipe, seed: int, device: str) -> Learned:
    """A drafter that fills blocks of the stream from the target's hidden states, which are computed once."""
    draw = torch.Generator().manual_seed(seed)
    weights = _on(new_drafter(pair, seed), device)
    worth = torch.exp(-torch.arange(pair.block - 1, device=device) / DEPTH_DECAY)
    pool = tokens.unfold(0, recipe.length, WINDOW_PACE).to(device)
    states = _tap(pair, target, pool, device)

    def loss() -> Tensor:
        chosen = torch.randint(0, len(pool), (recipe.batch,), generator=draw).to(device)
        batch, tapped = pool[chosen], states[chosen]
        anchors = torch.randint(1, recipe.length - pair.block, (recipe.batch, recipe.anchors), generator=draw).to(device)
        logits = run_drafter(weights, target, pair, batch, tapped, anchors)
        wrong = F.cross_entropy(logits.float().flatten(0, 2), following(batch, anchors, pair.block).flatten(), reduction="none")
        return (wrong.view(-1, pair.block - 1) * worth).mean() / worth.mean()

    return _train(weights, loss, recipe, device)


def _tap(pair: Pair, target: Weights, pool: Tensor, device: str) -> Tensor:
    """The target's hidden states of all windows [windows, length, taps * hidden], bfloat16 as it serves them."""
    with torch.no_grad(), torch.autocast(device, torch.bfloat16):
        return torch.cat([run_target(target, pair, part)[1].to(torch.bfloat16) for part in pool.split(TAPPED_AT_ONCE)])


def following(tokens: Tensor, anchors: Tensor, block: int) -> Tensor:
    """The tokens after each anchor [batch, anchors, block - 1]."""
    places = anchors[..., None] + torch.arange(1, block, device=tokens.device)
    return tokens.gather(1, places.flatten(1)).view(*anchors.shape, block - 1)


def _train(weights: Weights, loss: Callable[[], Tensor], recipe: Recipe, device: str) -> Learned:
    for weight in weights.values():
        weight.requires_grad_(True)
    fused: Any = {"fused": True} if device != "cpu" else {}
    optimiser = torch.optim.AdamW(list(weights.values()), lr=recipe.rate, betas=(0.9, 0.95), weight_decay=0.01, **fused)
    start, losses, step = time.monotonic(), [], 0
    for step in range(1, recipe.steps + 1):
        done = max(step / recipe.steps, (time.monotonic() - start) / recipe.seconds)
        if done >= 1 and step < recipe.steps:
            break
        for group in optimiser.param_groups:
            group["lr"] = (
                recipe.rate * min(1.0, step / WARM_UP_STEPS) * (0.05 + 0.95 * (1 + math.cos(math.pi * min(done, 1))) / 2)
            )
        with torch.autocast(device, torch.bfloat16):
            value = loss()
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), CLIP)
        optimiser.step()
        if step % max(1, recipe.steps // 10) == 0:
            losses.append(round(float(value.detach()), 4))
    frozen = {name: weight.detach() for name, weight in weights.items()}
    return Learned(frozen, step, round(time.monotonic() - start, 1), tuple(losses))


def _on(weights: Weights, device: str) -> Weights:
    return {name: weight.to(device) for name, weight in weights.items()}
