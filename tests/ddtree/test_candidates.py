"""Candidates over tensor-parallel ranks equal those of the whole vocabulary, padding and added tokens included."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tests.ddtree.on_cpu import needs

torch: Any = needs("torch")
needs("triton")

from sglang_ddtree.runtime.candidates import Candidates, best_tokens  # noqa: E402

HIDDEN, ROWS = 16, 5


@dataclass
class Group:
    """SGLang's group of ranks, one after the other: the first round only collects what every rank sends."""

    world_size: int
    sent: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def all_gather_into_tensor(self, output: Any, mine: Any) -> None:
        self.sizes.append(mine.numel())
        if len(self.sent) < self.world_size:
            self.sent.append(mine)
        if len(self.sent) == self.world_size:
            output.copy_(torch.cat(self.sent))


def head(weight: Any, first: int, count: int, padded: int, added: tuple[int, int] = (0, 0)) -> SimpleNamespace:
    """A rank's part of the head: its base rows, padding of large values that must not win, its added rows, padding."""
    noise = torch.full((padded - count, HIDDEN), 50.0)
    rows = torch.cat((weight[first : first + count], noise, weight[added[0] : sum(added)], noise))
    shard = SimpleNamespace(
        num_org_elements=count,
        num_org_elements_padded=padded,
        org_vocab_start_index=first,
        num_added_elements=added[1],
        added_vocab_start_index=added[0],
    )
    return SimpleNamespace(weight=rows, shard_indices=shard)


def over_ranks(hidden: Any, heads: list[SimpleNamespace], topk: int) -> tuple[list[Candidates], Group]:
    group = Group(len(heads))
    for part in heads:
        best_tokens(hidden, part, topk, group)
    return [best_tokens(hidden, part, topk, group) for part in heads], group


def expected(hidden: Any, weight: Any, topk: int) -> tuple[Any, Any]:
    scores, ids = torch.topk(torch.log_softmax(hidden @ weight.T, dim=1), topk, dim=1)
    return scores, ids


@pytest.mark.parametrize("topk", [1, 4, 8])
def test_two_ranks_with_a_padded_vocabulary(topk: int) -> None:
    torch.manual_seed(1)
    hidden, weight = torch.rand(ROWS, HIDDEN), torch.randn(101, HIDDEN)
    answers, group = over_ranks(hidden, [head(weight, 0, 64, 64), head(weight, 64, 37, 64)], topk)
    scores, ids = expected(hidden, weight, topk)
    for answer in answers:
        assert torch.equal(answer.ids, ids)
        assert torch.allclose(answer.scores, scores, atol=1e-5)
    assert max(group.sizes) == ROWS * (2 * topk + 1)  # scores, ids and one normaliser per row: never the logits


def test_added_tokens_have_their_own_ids() -> None:
    torch.manual_seed(2)
    hidden, weight = torch.rand(ROWS, HIDDEN), torch.randn(110, HIDDEN)
    weight[100:] *= 3  # so that they win
    (answer,), _ = over_ranks(hidden, [head(weight, 0, 100, 128, (100, 10))], 8)
    scores, ids = expected(hidden, weight, 8)
    assert torch.equal(answer.ids, ids)
    assert torch.allclose(answer.scores, scores, atol=1e-5)
    assert bool((ids >= 100).any())


def test_a_rank_with_fewer_tokens_than_k() -> None:
    torch.manual_seed(3)
    hidden, weight = torch.rand(ROWS, HIDDEN), torch.randn(67, HIDDEN)
    answers, _ = over_ranks(hidden, [head(weight, 0, 64, 64), head(weight, 64, 3, 64)], 8)
    assert all(torch.equal(answer.ids, expected(hidden, weight, 8)[1]) for answer in answers)
