"""Which server arguments DDTREE refuses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .refusals import Refusal
from .widths import MAX_BLOCK, MAX_BUDGET, MAX_TOPK, WidthTable

MASK_BACKENDS = ("triton",)
"""Attention back-ends on which this runtime writes the tree mask. Facts of sglang 0.5.13.post1: flashinfer for MLA, trtllm_mla,
trtllm_mha, cutlass_mla, flashmla and fa4 ignore or refuse a tree mask; flashinfer for MHA and fa3 take one in other layouts."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What SGLang made of the arguments, as far as DDTREE cares."""

    page_size: int
    prefill_backend: str
    decode_backend: str
    dp_attention: bool
    pp_size: int
    two_batch_overlap: bool
    deterministic: bool
    disaggregation: str
    adaptive: bool
    accept_thresholds: tuple[float, float]
    num_draft_tokens: int | None
    """What the user asked for, if anything: it follows from the budget."""
    context_parallel: bool = False
    hierarchical_cache: bool = False
    returns_hidden_states: bool = False
    draft_window: int | None = None
    """Tokens of context that the drafter keeps, if not all."""


def server_refusals(facts: ServerFacts, table: WidthTable) -> tuple[Refusal, ...]:
    """Judge the server's arguments, completed by SGLang."""
    return (
        *_memory_layout(facts),
        *_parallelism(facts),
        *_modes(facts),
        *_widths(facts, table),
        *_representable(table),
    )


def _memory_layout(facts: ServerFacts) -> Iterator[Refusal]:
    if facts.page_size != 1:
        yield Refusal(
            f"page size {facts.page_size}: accepted nodes are scattered over the tree; their KV can stay only at page size 1",
            "--page-size 1",
        )
    wrong = sorted({facts.prefill_backend, facts.decode_backend} - set(MASK_BACKENDS))
    if wrong:
        yield Refusal(
            f"attention back-end {', '.join(wrong)} doesn't take DDTREE's tree mask at verify: branches would see each other",
            f"--attention-backend triton (those that honour it here: {', '.join(MASK_BACKENDS)})",
        )
    if facts.hierarchical_cache:
        yield Refusal(
            "hierarchical cache: it brings back the target's KV without the drafter's, which then drafts from garbage",
            "leave out --enable-hierarchical-cache",
        )


def _parallelism(facts: ServerFacts) -> Iterator[Refusal]:
    if facts.dp_attention:
        yield Refusal("DP attention: ranks verify different requests' trees in one graph", "leave out --enable-dp-attention")
    if facts.pp_size != 1:
        yield Refusal(
            f"pipeline parallel size {facts.pp_size}: the drafter needs the hidden states of all layers on one rank",
            "--pp-size 1",
        )
    if facts.context_parallel:
        yield Refusal(
            "context parallelism: a rank has the hidden states of its own part of the prompt only, the drafter needs them all",
            "leave out --attn-cp-size and --enable-prefill-context-parallel",
        )
    if facts.two_batch_overlap:
        yield Refusal("two-batch overlap splits a batch between requests' trees", "leave out --enable-two-batch-overlap")
    if facts.disaggregation != "null":
        yield Refusal(
            f"disaggregation mode {facts.disaggregation}: the drafter's context doesn't travel with the KV cache",
            "--disaggregation-mode null",
        )


def _modes(facts: ServerFacts) -> Iterator[Refusal]:
    if facts.deterministic:
        yield Refusal(
            "deterministic inference uses another attention kernel at verify, not proven with tree masks",
            "leave out --enable-deterministic-inference",
        )
    if facts.adaptive:
        yield Refusal(
            "adaptive speculation changes the number of draft steps, which DDTREE doesn't have",
            "--speculative-ddtree-budget-schedule",
        )
    if facts.returns_hidden_states:
        yield Refusal(
            "hidden states can't be returned: those of a verify pass belong to the tree's nodes, and the drafter takes them",
            "leave out --enable-return-hidden-states",
        )
    if facts.accept_thresholds != (1.0, 1.0):
        yield Refusal(
            "acceptance thresholds other than 1 change the text's distribution, and DDTREE accepts exactly what the target draws",
            "leave out --speculative-accept-threshold-single and -acc",
        )


def _widths(facts: ServerFacts, table: WidthTable) -> Iterator[Refusal]:
    for entry in table.verify:
        if entry.width < table.block_size:
            yield Refusal(
                f"a budget of {entry.budget} can't hold the drafter's own chain: budget + 1 must be at least the block size "
                f"{table.block_size}",
                f"a budget of at least {table.block_size - 1}, or a smaller --speculative-dflash-block-size",
            )
    if facts.num_draft_tokens not in (None, table.verify_width):
        yield Refusal(
            f"--speculative-num-draft-tokens {facts.num_draft_tokens} contradicts the budget {table.budget}: the verify pass has "
            f"{table.verify_width} tokens",
            "leave out --speculative-num-draft-tokens",
        )
    if facts.draft_window is not None and facts.draft_window < table.block_size:
        yield Refusal(
            f"a draft window of {facts.draft_window} tokens is shorter than the block of {table.block_size}",
            f"--speculative-draft-window-size of at least {table.block_size}, or leave it out",
        )
    if table.block_size < 2:
        yield Refusal(f"a block of {table.block_size} drafts nothing", "a --speculative-dflash-block-size of at least 2")


def _representable(table: WidthTable) -> Iterator[Refusal]:
    limits = (
        ("budget", table.budget, MAX_BUDGET, "--speculative-ddtree-budget"),
        ("block", table.block_size, MAX_BLOCK, "--speculative-dflash-block-size"),
        ("top-k cap", table.topk, MAX_TOPK, "--speculative-ddtree-topk-cap"),
    )
    for name, value, most, flag in limits:
        if value > most:
            yield Refusal(f"a {name} of {value} is beyond what the tree builder can count ({most})", f"{flag} {most} or less")
