"""What to expect of the pair before it is served: how sure the target is, and how far a block is right."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from tests.gpu.training.drafter import run_drafter
from tests.gpu.training.layout import Pair
from tests.gpu.training.learn import following
from tests.gpu.training.target import run_target
from tests.gpu.training.tokens import windows
from tests.gpu.training.transformer import Weights

NEAR_TIE = 0.125


@dataclass(frozen=True, slots=True)
class Expected:
    """Over random stretches of a text: cross entropy in nats a token, share of tokens that are the target's first choice, share
    of near ties (best two logits less than 0.125 apart), and the drafter's mean acceptance length against the text itself
    (right tokens from the anchor on, plus the bonus)."""

    loss: float
    first_choice: float
    near_ties: float
    acceptance: float


def expect(pair: Pair, target: Weights, drafter: Weights, tokens: Tensor, device: str) -> Expected:
    draw = torch.Generator().manual_seed(7)
    batch = windows(tokens, 16, 385, draw).to(device)
    anchors = torch.randint(64, 384 - pair.block, (16, 32), generator=draw).to(device)
    with torch.no_grad(), torch.autocast(device, torch.bfloat16):
        logits, tapped = run_target(target, pair, batch[:, :-1])
        blocks = run_drafter(drafter, target, pair, batch[:, :-1], tapped, anchors).argmax(-1)
    logits, wanted = logits.float()[:, 64:], batch[:, 65:]
    best = logits.topk(2, -1)
    right = (blocks == following(batch, anchors, pair.block)).long().cumprod(-1).sum(-1)
    return Expected(
        loss=round(float(F.cross_entropy(logits.flatten(0, 1), wanted.flatten())), 4),
        first_choice=round(float((best.indices[..., 0] == wanted).float().mean()), 4),
        near_ties=round(float((best.values[..., 0] - best.values[..., 1] < NEAR_TIE).float().mean()), 5),
        acceptance=round(float(right.float().mean()) + 1, 3),
    )
