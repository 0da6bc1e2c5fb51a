"""Triton kernels: the k best tokens of a row and its log-sum-exp, in one pass over the logits.

`torch.topk` and `torch.logsumexp` read the logits several times and in float32; for 336 rows of 152 thousand tokens that was a
millisecond on an H200. Of equal logits the lower token wins, whatever the hardware.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, misc"
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def chunk_kernel(
    logits,  # [rows, vocabulary], any float
    row_stride,
    vocabulary,
    values,  # out, float32 [rows, chunks, K]
    columns,  # out, int32 [rows, chunks, K]
    sums,  # out, float32 [rows, chunks, 2]: maximum, sum of exponentials below it
    K: tl.constexpr,
    CHUNK: tl.constexpr,
):
    row = tl.program_id(0)
    place = row * tl.num_programs(1) + tl.program_id(1)
    column = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(logits + row.to(tl.int64) * row_stride + column, mask=column < vocabulary, other=float("-inf")).to(tl.float32)
    x = tl.where(x == x, x, float("-inf"))  # noqa: PLR0124 - NaN: never drafted
    best = tl.max(x, 0)
    base = tl.where(best > float("-inf"), best, 0.0)
    tl.store(sums + place * 2, best)
    tl.store(sums + place * 2 + 1, tl.sum(tl.exp(x - base), 0))
    for rank in tl.static_range(K):
        at = tl.min(tl.where(x == best, column, 2147483647), 0)
        tl.store(values + place * K + rank, best)
        tl.store(columns + place * K + rank, tl.minimum(at, vocabulary - 1))
        x = tl.where(column == at, float("-inf"), x)
        best = tl.max(x, 0)


@triton.jit
def merge_kernel(
    values,  # float32 [rows, chunks * K], from chunk_kernel
    columns,  # int32, same shape
    sums,  # float32 [rows, chunks, 2]
    chunks,
    best_values,  # out, float32 [rows, K]
    best_columns,  # out, int64 [rows, K]
    normalisers,  # out, float32 [rows]: log-sum-exp
    K: tl.constexpr,
    LANES: tl.constexpr,  # power of two, at least chunks * K
):
    row = tl.program_id(0)
    lane = tl.arange(0, LANES)
    maxima = tl.load(sums + (row * chunks + lane) * 2, mask=lane < chunks, other=float("-inf"))
    parts = tl.load(sums + (row * chunks + lane) * 2 + 1, mask=lane < chunks, other=0.0)
    top = tl.max(maxima, 0)
    base = tl.where(top > float("-inf"), top, 0.0)
    tl.store(normalisers + row, base + tl.log(tl.sum(parts * tl.exp(maxima - base), 0)))
    x = tl.load(values + row * chunks * K + lane, mask=lane < chunks * K, other=float("-inf"))
    column = tl.load(columns + row * chunks * K + lane, mask=lane < chunks * K, other=0)
    for rank in tl.static_range(K):
        best = tl.max(x, 0)
        at = tl.min(tl.where(x == best, lane, LANES - 1), 0)
        hit = lane == at
        tl.store(best_values + row * K + rank, best)
        tl.store(best_columns + row * K + rank, tl.sum(tl.where(hit, column, 0), 0).to(tl.int64))
        x = tl.where(hit, float("-inf"), x)
