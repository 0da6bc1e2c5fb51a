"""The kernels that find the k best tokens, in Triton's interpreter, against torch's own topk and logsumexp."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ddtree.on_cpu import needs

torch: Any = needs("torch")
triton: Any = needs("triton")

from sglang_ddtree.runtime.candidates_kernel import chunk_kernel, merge_kernel  # noqa: E402

CHUNK = 64


def best_of(logits: Any, topk: int) -> tuple[Any, Any, Any]:
    """What `runtime.candidates.top_of` launches on a GPU, with a chunk small enough for an interpreter."""
    rows, vocabulary = logits.shape
    chunks = triton.cdiv(vocabulary, CHUNK)
    part_values, part_columns = torch.empty((rows, chunks, topk)), torch.empty((rows, chunks, topk), dtype=torch.int32)
    sums = torch.empty((rows, chunks, 2))
    stride = logits.stride(0)
    chunk_kernel[(rows, chunks)](logits, stride, vocabulary, part_values, part_columns, sums, K=topk, CHUNK=CHUNK)
    values, columns = torch.empty((rows, topk)), torch.empty((rows, topk), dtype=torch.int64)
    normalisers = torch.empty((rows, 1))
    lanes = max(32, triton.next_power_of_2(chunks * topk))
    merge_kernel[(rows,)](part_values, part_columns, sums, chunks, values, columns, normalisers, K=topk, LANES=lanes)
    return values, columns, normalisers


@pytest.mark.parametrize("topk", [1, 3, 8])
@pytest.mark.parametrize("vocabulary", [8, 64, 150])
def test_equal_to_torch(topk: int, vocabulary: int) -> None:
    torch.manual_seed(topk * vocabulary)
    logits = torch.randn(3, vocabulary) * 5
    values, columns, normalisers = best_of(logits, topk)
    expected, at = torch.topk(logits, topk, dim=1)
    assert torch.equal(values, expected)
    assert torch.equal(columns, at)
    assert torch.allclose(normalisers, torch.logsumexp(logits, dim=1, keepdim=True), atol=1e-5)


def test_of_equal_logits_the_lower_token_wins_within_and_across_chunks() -> None:
    logits = torch.zeros(1, 150)
    logits[0, [40, 41, 130]] = 2.0
    _, columns, _ = best_of(logits, 4)
    assert columns.tolist() == [[40, 41, 130, 0]]


def test_a_rank_row_may_be_a_slice() -> None:
    wide = torch.randn(2, 300)
    values, columns, _ = best_of(wide[:, :100], 2)
    expected, at = torch.topk(wide[:, :100], 2, dim=1)
    assert torch.equal(values, expected)
    assert torch.equal(columns, at)


def test_what_is_no_number_or_impossible_is_never_ahead_of_a_token() -> None:
    logits = torch.full((1, 100), float("-inf"))
    logits[0, 7], logits[0, 70], logits[0, 3] = 1.0, 2.0, float("nan")
    values, columns, normalisers = best_of(logits, 4)
    assert columns.tolist()[0][:2] == [70, 7]
    assert values.tolist()[0] == [2.0, 1.0, float("-inf"), float("-inf")]
    assert all(0 <= column < 100 for column in columns.tolist()[0])  # whatever comes along must be a token
    assert normalisers.item() == pytest.approx(torch.logsumexp(torch.tensor([1.0, 2.0]), dim=0).item(), abs=1e-5)
