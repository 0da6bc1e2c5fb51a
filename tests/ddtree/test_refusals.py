"""Every refusal has its reason and its fix, and a good configuration has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sglang_ddtree.ddtree.drafter_checks import DrafterFacts, drafter_refusals
from sglang_ddtree.ddtree.options import BUDGET_VARIABLE, SCHEDULE_VARIABLE, TOPK_VARIABLE, read_options
from sglang_ddtree.ddtree.refusals import Refusal, Refused, refuse
from sglang_ddtree.ddtree.server_checks import ServerFacts, server_refusals
from sglang_ddtree.ddtree.widths import WidthTable, width_table

SERVER = ServerFacts(
    page_size=1,
    prefill_backend="triton",
    decode_backend="triton",
    dp_attention=False,
    pp_size=1,
    two_batch_overlap=False,
    deterministic=False,
    disaggregation="null",
    adaptive=False,
    accept_thresholds=(1.0, 1.0),
    num_draft_tokens=None,
)
DRAFTER = DrafterFacts(
    path="/models/draft",
    architectures=("DFlashDraftModel",),
    block_size=8,
    trained_for_layers=36,
    vocab_size=151936,
    mask_token_id=151669,
    hidden_size=4096,
    target_architectures=("Qwen3ForCausalLM",),
    target_layers=36,
    target_vocab_size=151936,
    target_hidden_size=4096,
)


def table(block: int = 8, **environment: str) -> WidthTable:
    return width_table(read_options(environment), block)


def test_a_good_configuration_is_not_refused() -> None:
    assert server_refusals(SERVER, table()) == ()
    assert drafter_refusals(DRAFTER, table()) == ()
    assert server_refusals(replace(SERVER, num_draft_tokens=32), table()) == ()


@pytest.mark.parametrize(
    ("change", "reason", "fix"),
    [
        ({"page_size": 64}, "page size 64", "--page-size 1"),
        ({"decode_backend": "flashinfer"}, "flashinfer doesn't take", "--attention-backend triton"),
        ({"prefill_backend": "fa3", "decode_backend": "trtllm_mla"}, "fa3, trtllm_mla", "--attention-backend triton"),
        ({"dp_attention": True}, "DP attention", "--enable-dp-attention"),
        ({"pp_size": 2}, "pipeline parallel size 2", "--pp-size 1"),
        ({"two_batch_overlap": True}, "two-batch overlap", "--enable-two-batch-overlap"),
        ({"deterministic": True}, "deterministic", "--enable-deterministic-inference"),
        ({"disaggregation": "decode"}, "disaggregation mode decode", "null"),
        ({"context_parallel": True}, "context parallelism", "--attn-cp-size"),
        ({"hierarchical_cache": True}, "hierarchical cache", "--enable-hierarchical-cache"),
        ({"returns_hidden_states": True}, "hidden states", "--enable-return-hidden-states"),
        ({"draft_window": 7}, "draft window of 7 tokens", "at least 8"),
        ({"adaptive": True}, "adaptive", "--speculative-ddtree-budget-schedule"),
        ({"accept_thresholds": (0.9, 1.0)}, "distribution", "threshold"),
        ({"num_draft_tokens": 8}, "--speculative-num-draft-tokens 8 contradicts the budget 31", "leave out"),
    ],
)
def test_server(change: dict[str, Any], reason: str, fix: str) -> None:
    (refusal,) = server_refusals(replace(SERVER, **change), table())
    assert reason in refusal.reason
    assert fix in refusal.fix


def test_a_budget_below_the_chain() -> None:
    (refusal,) = server_refusals(SERVER, table(8, **{BUDGET_VARIABLE: "6"}))
    assert "at least the block size 8" in refusal.reason
    assert "at least 7" in refusal.fix
    assert server_refusals(SERVER, table(8, **{BUDGET_VARIABLE: "7"})) == ()


@pytest.mark.parametrize(
    ("block", "environment", "reason", "fix"),
    [
        (8, {BUDGET_VARIABLE: "300", TOPK_VARIABLE: "257"}, "top-k cap of 257", "256 or less"),
        (257, {BUDGET_VARIABLE: "300"}, "block of 257", "256 or less"),
        (8, {BUDGET_VARIABLE: "32768"}, "budget of 32768", "32767 or less"),
    ],
)
def test_more_than_the_builder_can_count(block: int, environment: dict[str, str], reason: str, fix: str) -> None:
    (refusal,) = server_refusals(SERVER, table(block, **environment))
    assert reason in refusal.reason
    assert fix in refusal.fix


def test_the_largest_that_the_builder_can_count() -> None:
    assert server_refusals(SERVER, table(256, **{BUDGET_VARIABLE: "32767", TOPK_VARIABLE: "256"})) == ()


def test_a_draft_window_of_a_block_is_enough() -> None:
    assert server_refusals(replace(SERVER, draft_window=8), table()) == ()


def test_a_narrow_step_of_the_schedule_is_refused_too() -> None:
    (refusal,) = server_refusals(SERVER, table(8, **{SCHEDULE_VARIABLE: "1:31,32:5"}))
    assert "budget of 5" in refusal.reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"path": None}, "no drafter"),
        ({"architectures": ("LlamaForCausalLMEagle3",)}, "LlamaForCausalLMEagle3, no DFlash"),
        ({"block_size": 16}, "trained for 16"),
        ({"trained_for_layers": 48}, "48 layers, this one has 36"),
        ({"hidden_size": 2048}, "hidden size is 2048"),
        ({"vocab_size": 32000}, "32000 tokens"),
        ({"mask_token_id": 151936}, "mask token 151936"),
        ({"target_architectures": ("GptOssForCausalLM",)}, "GptOssForCausalLM"),
        ({"target_architectures": ("Qwen3NextForCausalLM",)}, "Qwen3NextForCausalLM"),
    ],
)
def test_drafter(change: dict[str, Any], reason: str) -> None:
    (refusal,) = drafter_refusals(replace(DRAFTER, **change), table())
    assert reason in refusal.reason
    assert refusal.fix


def test_what_a_config_does_not_say_is_not_held_against_it() -> None:
    silent = replace(DRAFTER, block_size=None, trained_for_layers=None, vocab_size=None, mask_token_id=None, hidden_size=None)
    assert drafter_refusals(replace(silent, architectures=(), target_architectures=()), table()) == ()


def test_refusing_ends_the_process_with_78_and_says_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refused) as caught:
        refuse(Refusal("the first", "do this"), Refusal("the second", "do that"))
    assert caught.value.code == 78
    assert not isinstance(caught.value, Exception)  # SGLang swallows those of plugins
    assert capsys.readouterr().err.splitlines() == [
        "ddtree: refused: the first. Fix: do this",
        "ddtree: refused: the second. Fix: do that",
    ]
    assert caught.value.message == "DDTREE refuses: the first. Fix: do this | the second. Fix: do that"
