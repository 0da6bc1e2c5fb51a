"""How many tokens per request every pass is made for. The one place that knows: all buffers, graphs and checks ask it.

The draft pass is as wide as the drafter's block; the verify pass as wide as the tree: budget + 1. Mixing the two is the crash
this runtime exists to rule out.
"""

from __future__ import annotations

from dataclasses import dataclass

from .options import DDTreeOptions

MAX_BUDGET, MAX_BLOCK, MAX_TOPK = 32767, 256, 256
"""What the GPU builder can tell apart: it packs a candidate's parent, depth and rank into 16, 8 and 8 bits of an int32
(runtime/grow_kernel.py). Beyond that a rank would run over into the depth, and the tree would be another one."""


@dataclass(frozen=True, slots=True)
class VerifyWidth:
    """Verify pass for batches of `min_batch` to `max_batch` requests (None: no upper end). `width` = `budget` + 1 tokens."""

    min_batch: int
    max_batch: int | None
    budget: int
    width: int


@dataclass(frozen=True, slots=True)
class WidthTable:
    """Tokens per request. `verify` is in ascending order of batch size."""

    block_size: int
    budget: int
    topk: int
    draft_width: int
    verify_width: int
    """The widest verify pass: what buffers, KV reservation and the memory estimate are made for."""
    reserved_slots: int
    """KV slots that one request may need in a step beyond its text."""
    depth: int
    verify: tuple[VerifyWidth, ...]

    def verify_for(self, batch: int) -> VerifyWidth:
        """Width of the verify pass for a running batch of so many requests (at least 1)."""
        return next(entry for entry in reversed(self.verify) if entry.min_batch <= max(batch, 1))


def width_table(options: DDTreeOptions, block_size: int) -> WidthTable:
    """All widths that follow from the options and the drafter's block size (tokens, the committed one included)."""
    steps = options.steps
    ends = [step.min_batch - 1 for step in steps[1:]]
    return WidthTable(
        block_size=block_size,
        budget=options.budget,
        topk=options.topk,
        draft_width=block_size,
        verify_width=options.budget + 1,
        reserved_slots=max(block_size, options.budget + 1),
        depth=block_size - 1,
        verify=tuple(
            VerifyWidth(step.min_batch, end, step.budget, step.budget + 1) for step, end in zip(steps, [*ends, None], strict=True)
        ),
    )
