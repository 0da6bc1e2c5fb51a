"""The drafter: checks its weights against its config, and proposes tokens for the positions ahead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sglang.simulation.language import VOCAB_SIZE
from sglang.srt.managers.schedule_batch import Req
from sglang.srt.model_loader.config import WeightFile, tensor_shape

# How often, in percent, the target's token is the drafter's first, second, ... choice; otherwise it isn't among them.
_RANK_SHARES = (68, 13, 6, 3, 2, 1, 1)


class DFlashDraftModel:
    """A block drafter without weights of its own: what it proposes depends on the prompt and the position alone."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config

    def load_weights(self, weights: Sequence[WeightFile]) -> None:
        """Check fc.weight. Raises ValueError in SGLang's words if it has another width than the config says."""
        hidden_size = self.config.get("hidden_size")
        layers = self.config.get("dflash_config", {}).get("target_layer_ids")
        shapes = [shape for file in weights if (shape := tensor_shape(file, "fc.weight")) is not None]
        if not hidden_size or not layers or not shapes:
            return
        expected = (hidden_size, len(layers) * hidden_size)
        if shapes[0] != expected:
            raise ValueError(
                "DFLASH fc.weight shape mismatch. This usually means the draft checkpoint's number of context features "
                f"(K) does not match this config. Expected fc.weight.shape={expected} "
                f"(num_context_features={len(layers)}, hidden_size={hidden_size}), "
                f"but got {shapes[0]} for weight 'fc.weight'."
            )


def draft_candidates(req: Req, position: int, count: int, hits: int = 100) -> list[tuple[int, float]]:
    """The drafter's `count` best tokens for a position after the prompt, best first, with their log-probabilities.

    Of the positions at which the target's token would be among them, it is in `hits` of 100.
    """
    draw = req.continuation.number("draft", position) % 100
    if req.continuation.number("hit", position) % 100 >= hits:
        draw = 100
    rank, reached = None, 0
    for index, share in enumerate(_RANK_SHARES):
        reached += share
        if draw < reached:
            rank = index
            break
    sharpness = 0.45 + (req.continuation.number("sharp", position) % 40) / 100
    candidates = []
    for index in range(count):
        token = req.target_token(position) if index == rank else VOCAB_SIZE + index
        candidates.append((token, math.log(sharpness) + index * math.log(1 - sharpness)))
    return candidates
