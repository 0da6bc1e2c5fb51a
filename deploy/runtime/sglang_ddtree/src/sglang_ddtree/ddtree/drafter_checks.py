"""Whether drafter and target belong together, as far as their configs tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .refusals import Refusal
from .targets import CAPTURING_TARGETS
from .widths import WidthTable

_FIX = "the drafter that was trained for this target"


@dataclass(frozen=True, slots=True)
class DrafterFacts:
    """The drafter's and the target's config. None, or empty: the config doesn't say, and nothing follows from that."""

    path: str | None
    architectures: tuple[str, ...]
    block_size: int | None
    trained_for_layers: int | None
    vocab_size: int | None
    mask_token_id: int | None
    hidden_size: int | None
    target_architectures: tuple[str, ...]
    target_layers: int | None
    target_vocab_size: int | None
    target_hidden_size: int | None


def drafter_refusals(facts: DrafterFacts, table: WidthTable) -> tuple[Refusal, ...]:
    """Judge drafter and target together."""
    return (*_drafter(facts, table), *_fit(facts), *_target(facts))


def _drafter(facts: DrafterFacts, table: WidthTable) -> Iterator[Refusal]:
    if facts.path is None:
        yield Refusal("there is no drafter", "--speculative-draft-model-path with a DFlash drafter of this target")
        return
    if facts.architectures and not any("DFlash" in name for name in facts.architectures):
        yield Refusal(f"the drafter is {', '.join(facts.architectures)}, no DFlash model", "a DFlash drafter of this target")
    if facts.block_size is not None and facts.block_size != table.block_size:
        yield Refusal(
            f"block size {table.block_size}, but the drafter was trained for {facts.block_size}",
            f"--speculative-dflash-block-size {facts.block_size}, or leave it out",
        )


def _fit(facts: DrafterFacts) -> Iterator[Refusal]:
    if _differ(facts.trained_for_layers, facts.target_layers):
        yield Refusal(
            f"the drafter was trained for a target of {facts.trained_for_layers} layers, this one has {facts.target_layers}", _FIX
        )
    if _differ(facts.hidden_size, facts.target_hidden_size):
        yield Refusal(f"the drafter's hidden size is {facts.hidden_size}, the target's {facts.target_hidden_size}", _FIX)
    if _differ(facts.vocab_size, facts.target_vocab_size):
        yield Refusal(f"the drafter's vocabulary has {facts.vocab_size} tokens, the target's {facts.target_vocab_size}", _FIX)
    if facts.mask_token_id is not None and facts.target_vocab_size is not None and facts.mask_token_id >= facts.target_vocab_size:
        yield Refusal(f"mask token {facts.mask_token_id} is outside the target's {facts.target_vocab_size} tokens", _FIX)


def _target(facts: DrafterFacts) -> Iterator[Refusal]:
    if facts.target_architectures and not CAPTURING_TARGETS.intersection(facts.target_architectures):
        yield Refusal(
            f"target {', '.join(facts.target_architectures)} can't hand out layers' hidden states, or not for a tree",
            f"a target among: {', '.join(sorted(CAPTURING_TARGETS))}",
        )


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other
