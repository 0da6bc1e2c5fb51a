"""A captured graph only replays batches of its own width: the story's crash becomes an eager step."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from sglang_ddtree.runtime.guard import guarded


@dataclass
class Tokens:
    count: int

    def numel(self) -> int:
        return self.count


@dataclass
class Runner:
    """Captured for so many tokens per request; like SGLang's, `can_run` only looks at the batch size."""

    num_tokens_per_bs: int
    asked: list[int] = field(default_factory=list)

    def can_run(self, batch: SimpleNamespace) -> bool:
        self.asked.append(batch.batch_size)
        return bool(batch.batch_size <= 16)


def batch(requests: int, tokens_per_request: int, eager: bool = False) -> SimpleNamespace:
    tokens = Tokens(requests * tokens_per_request)
    return SimpleNamespace(batch_size=requests, input_ids=tokens, spec_info=SimpleNamespace(eager=eager))


@pytest.mark.parametrize(
    ("captured", "given", "runs"), [(8, 33, False), (33, 33, True), (33, 8, False), (33, 32, False), (32, 32, True)]
)
def test_width(captured: int, given: int, runs: bool) -> None:
    runner = Runner(captured)
    can_run = guarded(runner)
    assert can_run(batch(4, given)) is runs
    assert runner.asked == ([4] if runs else [])


def test_the_rest_is_for_sglang_to_say() -> None:
    assert guarded(Runner(33))(batch(17, 33)) is False


def test_a_mask_outside_the_graphs_buffer() -> None:
    assert guarded(Runner(33))(batch(4, 33, eager=True)) is False
