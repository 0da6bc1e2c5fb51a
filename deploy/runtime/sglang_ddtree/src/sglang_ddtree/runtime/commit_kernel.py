"""Triton kernels of acceptance: walk the trees, then keep the accepted nodes' KV slots and list the others for freeing."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, misc"
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize_on_alignment=["limits"])
def walk_kernel(
    tokens,  # int64 [batch, WIDTH]
    parents,  # int32 [batch, WIDTH]
    choices,  # int [batch, WIDTH]: the target's token at each node
    path,  # out, int32 [batch, 2 * BLOCK + 1]: accepted drafts | nodes, root first | tokens, bonus last
    limits,  # int32 [batch]: most drafts that may be accepted
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
    BLOCK: tl.constexpr,  # depth + 1
):
    row = tl.program_id(0)
    lane = tl.arange(0, LANES)
    inside = lane < WIDTH
    token = tl.load(tokens + row * WIDTH + lane, mask=inside, other=-1)
    parent = tl.load(parents + row * WIDTH + lane, mask=inside, other=-1)
    choices += row * WIDTH
    path += row * (2 * BLOCK + 1)
    current = 0
    accepted = 0
    limit = tl.load(limits + row)
    going = tl.full([], 1, tl.int1)
    tl.store(path + 1, 0)
    for step in range(BLOCK - 1):
        wanted = tl.load(choices + current).to(tl.int64)
        tl.store(path + 1 + BLOCK + step, wanted.to(tl.int32))
        child = tl.max(tl.where((parent == current) & (token == wanted), lane, -1), 0)
        going = going & (child >= 0) & (step < limit)
        current = tl.where(going, child, current)
        accepted += going.to(tl.int32)
        tl.store(path + 2 + step, current)
    tl.store(path + 2 * BLOCK, tl.load(choices + current).to(tl.int32))
    tl.store(path, accepted)


# These are slices that start anywhere: without this, every alignment would compile a kernel of its own, while serving.
@triton.jit(
    do_not_specialize_on_alignment=[
        "commit_lens",
        "slots",
        "prefix_lens",
        "pool_rows",
        "kept_slots",
        "kept_positions",
        "freed_slots",
    ]
)
def commit_kernel(
    path,  # int32 [batch, 2 * BLOCK + 1], from walk_kernel
    commit_lens,  # int64 [batch]: nodes to keep per request, root included; may be cut by a stop token
    slots,  # int64 [batch, WIDTH]: KV slots of the nodes
    prefix_lens,  # int [batch], before the commit
    pool_rows,  # int [batch]: row of each request in req_to_token
    req_to_token,  # int32 [rows, row_stride]
    row_stride,
    kept_rows,  # out, int64 [sum(commit_lens)]: batch-wide node index
    kept_slots,  # out, int64, same length
    kept_positions,  # out, int64, same length
    freed_slots,  # out, int64 [batch * WIDTH - sum(commit_lens)]
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    lane = tl.arange(0, LANES)
    keep_from = tl.full([], 0, tl.int64)
    for first in range(0, row, 32):
        earlier = first + tl.arange(0, 32)
        keep_from += tl.sum(tl.load(commit_lens + earlier, mask=earlier < row, other=0).to(tl.int64), 0)
    count = tl.load(commit_lens + row)
    prefix = tl.load(prefix_lens + row).to(tl.int64)
    table = req_to_token + tl.load(pool_rows + row).to(tl.int64) * row_stride
    path += row * (2 * BLOCK + 1) + 1
    slots += row * WIDTH
    kept = lane < 0
    for step in range(BLOCK):
        use = step < count
        node = tl.load(path + step, mask=use, other=0)
        slot = tl.load(slots + node, mask=use, other=0)
        tl.store(kept_rows + keep_from + step, (row * WIDTH + node).to(tl.int64), mask=use)
        tl.store(kept_slots + keep_from + step, slot, mask=use)
        tl.store(kept_positions + keep_from + step, prefix + step, mask=use)
        tl.store(table + prefix + step, slot.to(tl.int32), mask=use)
        kept = kept | ((lane == node) & use)
    loose = (lane < WIDTH) & (kept == 0)
    target = row * WIDTH - keep_from + tl.cumsum(loose.to(tl.int32), 0) - 1
    tl.store(freed_slots + target, tl.load(slots + lane, mask=loose, other=0), mask=loose)
