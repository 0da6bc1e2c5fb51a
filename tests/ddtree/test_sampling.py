"""The target's choice per node, by SGLang's own sampler; penalties and biases reach the rows they are right for."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tests.ddtree.on_cpu import needs

torch: Any = needs("torch")
sampler_module: Any = needs("sglang.srt.layers.sampler")

from sglang_ddtree.runtime.sampling import adjust_logits, choose  # noqa: E402

WIDTH, VOCABULARY = 3, 5
SAMPLER = SimpleNamespace(_sample_from_probs=functools.partial(sampler_module.Sampler._sample_from_probs, None))
ONE_RANK = SimpleNamespace(world_size=1)


@dataclass
class Info:
    """The part of SGLang's SamplingBatchInfo that a step reads. Penalties here double what they see."""

    temperatures: Any
    penalised: bool = False
    logit_bias: Any = None
    is_all_greedy: bool = False
    has_custom_logit_processor: bool = False
    need_top_k_sampling: bool = False
    need_top_p_sampling: bool = False
    need_min_p_sampling: bool = False
    sampling_seed: Any = None

    def __post_init__(self) -> None:
        self.top_ks = self.top_ps = self.min_ps = torch.ones(len(self))
        self.penalizer_orchestrator = SimpleNamespace(is_required=self.penalised)

    def __len__(self) -> int:
        return int(self.temperatures.shape[0])

    def apply_logits_bias(self, logits: Any) -> None:
        if self.penalised:
            logits.mul_(2)
        if self.logit_bias is not None:
            logits.add_(self.logit_bias)


def test_penalties_reach_the_roots_and_a_bias_reaches_all() -> None:
    bias = torch.zeros(2, VOCABULARY)
    bias[1, 4] = 10
    logits = torch.ones(2 * WIDTH, VOCABULARY)
    adjust_logits(logits, Info(torch.ones(2, 1), penalised=True, logit_bias=bias), WIDTH)
    assert logits[:, 0].tolist() == [2, 1, 1, 2, 1, 1]
    assert logits[:, 4].tolist() == [2, 1, 1, 12, 11, 11]


def test_a_bias_alone() -> None:
    bias = torch.full((1, VOCABULARY), 3.0)
    logits = torch.ones(WIDTH, VOCABULARY)
    adjust_logits(logits, Info(torch.ones(1, 1), logit_bias=bias), WIDTH)
    assert bool((logits == 4).all())


def test_greedy_takes_the_best() -> None:
    logits = torch.eye(VOCABULARY)[[4, 0, 2]]
    info = Info(torch.ones(1, 1), is_all_greedy=True)
    assert choose(logits, torch.zeros(WIDTH), info, SAMPLER, ONE_RANK, WIDTH).tolist() == [4, 0, 2]


def test_every_node_is_drawn_from_its_own_distribution() -> None:
    torch.manual_seed(5)
    rounds = 4000
    logits = torch.randn(WIDTH, VOCABULARY)
    temperatures = torch.tensor([[0.5]])
    info = Info(temperatures.expand(rounds, 1))
    drawn = choose(logits.repeat(rounds, 1), torch.zeros(rounds * WIDTH), info, SAMPLER, ONE_RANK, WIDTH).view(rounds, WIDTH)
    chances = torch.softmax(logits / 0.5, dim=1)
    for node in range(WIDTH):
        counts = torch.bincount(drawn[:, node], minlength=VOCABULARY).float()
        wanted = chances[node] * rounds
        assert float(((counts - wanted) ** 2 / wanted).sum()) < 18.5  # chi-square, 4 degrees of freedom, 0.1 % level


def test_ranks_take_the_first_ranks_draws() -> None:
    class Ranks:
        world_size = 2

        def broadcast(self, drawn: Any, src: int) -> None:
            assert src == 0
            drawn.fill_(3)

    info = Info(torch.ones(1, 1))
    assert choose(torch.randn(WIDTH, VOCABULARY), torch.zeros(WIDTH), info, SAMPLER, Ranks(), WIDTH).tolist() == [3, 3, 3]
