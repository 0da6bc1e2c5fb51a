"""Triton kernel: grow one draft tree per program, and write its mask and positions.

Equal to `ddtree.tree.build_tree`, in the same order and in float32. The waiting candidates live in registers, one place per lane:
(weight, weight of the parent, packed parent | depth | rank). A step is one maximum and one minimum over the lanes.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, misc"
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _clean(score):
    """-inf in place of a number that is none."""
    return tl.where(score == score, score, float("-inf"))  # noqa: PLR0124 - false for NaN alone


@triton.jit
def _mask_start(prefix_lens, row, WIDTH: tl.constexpr):
    """Bytes of the flat mask that the requests before `row` take: WIDTH rows of prefix + WIDTH columns each."""
    start = tl.full([], 0, tl.int64)
    for first in range(0, row, 32):
        earlier = first + tl.arange(0, 32)
        lens = tl.load(prefix_lens + earlier, mask=earlier < row, other=-WIDTH).to(tl.int64)
        start += tl.sum(WIDTH * (lens + WIDTH), 0)
    return start


# Roots and lengths may be slices that start anywhere: no kernel of its own for every alignment.
@triton.jit(do_not_specialize_on_alignment=["roots", "prefix_lens"])
def grow_kernel(  # noqa: PLR0915 - one program, no calls between its steps
    scores,  # float32 [batch, DEPTH, K], descending per row
    ids,  # int64 [batch, DEPTH, K]
    roots,  # int64 [batch]
    prefix_lens,  # int [batch]
    tokens,  # out, int64 [batch, WIDTH]
    parents,  # out, int32 [batch, WIDTH]
    positions,  # out, int64 [batch, WIDTH]
    mask,  # out, uint8: SGLang's flat mask; only the square of the tree is written
    DEPTH: tl.constexpr,
    K: tl.constexpr,
    WIDTH: tl.constexpr,  # budget + 1
    LANES: tl.constexpr,  # power of two, at least WIDTH
):
    row = tl.program_id(0)
    lane = tl.arange(0, LANES)
    scores += row * DEPTH * K
    ids += row * DEPTH * K
    tokens += row * WIDTH
    parents += row * WIDTH
    positions += row * WIDTH
    root = tl.load(roots + row)
    prefix = tl.load(prefix_lens + row).to(tl.int64)

    columns = prefix + WIDTH
    square = mask + _mask_start(prefix_lens, row, WIDTH) + prefix
    for line in range(WIDTH):
        tl.store(square + line * columns + lane, (lane == line).to(tl.uint8), mask=lane < WIDTH)

    weight = tl.full([LANES], float("-inf"), tl.float32)
    parent_weight = tl.zeros([LANES], tl.float32)
    packed = tl.zeros([LANES], tl.int32)
    tl.store(tokens, root)
    tl.store(parents, -1)
    tl.store(positions, prefix)
    along = 0.0
    for depth in tl.static_range(1, DEPTH + 1):
        tl.store(tokens + depth, tl.load(ids + (depth - 1) * K))
        tl.store(parents + depth, depth - 1)
        tl.store(positions + depth, prefix + depth)
        here = lane == depth
        if K > 1:
            weight = tl.where(here, along + _clean(tl.load(scores + (depth - 1) * K + 1)), weight)
        parent_weight = tl.where(here, along, parent_weight)
        packed = tl.where(here, ((depth - 1) << 16) | (depth << 8) | 1, packed)
        along += _clean(tl.load(scores + (depth - 1) * K))

    for node in range(DEPTH + 1, WIDTH):
        best = tl.max(weight, 0)
        place = tl.min(tl.where(weight == best, lane, LANES), 0)
        found = best > float("-inf")
        hit = lane == place
        chosen = tl.sum(tl.where(hit, packed, 0), 0)
        above = tl.sum(tl.where(hit, parent_weight, 0.0), 0)
        level = (chosen >> 8) & 255
        rank = chosen & 255
        at = (level - 1) * K + rank
        token = tl.load(ids + at, mask=found, other=0)
        tl.store(tokens + node, tl.where(found, token, root))
        tl.store(parents + node, tl.where(found, chosen >> 16, -1))
        tl.store(positions + node, prefix + tl.where(found, level, 0))
        sibling = _clean(tl.load(scores + at + 1, mask=found & (rank + 1 < K), other=float("-inf")))
        child = _clean(tl.load(scores + level * K, mask=found & (level < DEPTH), other=float("-inf")))
        new = lane == node
        weight = tl.where(hit, above + sibling, tl.where(new, best + child, weight))
        parent_weight = tl.where(new, best, parent_weight)
        packed = tl.where(hit, chosen + 1, tl.where(new, (node << 16) | ((level + 1) << 8), packed))

    tl.debug_barrier()  # the parents and the mask's diagonal are read and overwritten by other lanes from here on
    current = tl.where(lane < WIDTH, lane, 0)
    for _ in range(DEPTH):
        above_node = tl.load(parents + current, mask=current > 0, other=-1)
        tl.store(square + lane * columns + above_node, tl.full([LANES], 1, tl.uint8), mask=above_node >= 0)
        current = tl.where(above_node > 0, above_node, 0)
