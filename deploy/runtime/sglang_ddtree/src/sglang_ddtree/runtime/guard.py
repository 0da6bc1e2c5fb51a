"""The guard in front of every captured graph: it only replays what it was captured for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def guarded(runner: Any) -> Callable[[Any], bool]:
    """SGLang's `can_run` of a graph runner, which doesn't compare token counts for this algorithm, with that comparison.

    Without it a replay fills 8 tokens per request from 33 and dies of "The size of tensor a (8) must match the size of tensor b
    (33)"; with it such a batch runs eagerly, and is counted.
    """
    can_run = runner.can_run

    def can_run_this(forward_batch: Any) -> bool:
        tokens = forward_batch.input_ids.numel()
        if tokens != forward_batch.batch_size * runner.num_tokens_per_bs or getattr(forward_batch.spec_info, "eager", False):
            return False
        return bool(can_run(forward_batch))

    return can_run_this
