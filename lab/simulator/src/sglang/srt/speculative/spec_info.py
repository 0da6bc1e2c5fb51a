"""Speculative algorithms, and how many tokens per request a verify pass takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs

DEFAULT_DDTREE_BUDGET = 31


class SpeculativeAlgorithm(Enum):
    """How the server speculates."""

    NONE = "NONE"
    DFLASH = "DFLASH"
    DDTREE = "DDTREE"

    @classmethod
    def from_string(cls, name: str | None) -> SpeculativeAlgorithm:
        """The algorithm of that name, in any case. Raises ValueError in SGLang's words."""
        if name is None:
            return cls.NONE
        try:
            return cls[name.upper()]
        except KeyError:
            pass
        raise ValueError(f"Unknown speculative algorithm name: {name}")

    def is_none(self) -> bool:
        """No speculation."""
        return self is SpeculativeAlgorithm.NONE

    def is_ddtree(self) -> bool:
        """The draft is a tree."""
        return self is SpeculativeAlgorithm.DDTREE

    def get_num_tokens_per_bs_for_target_verify(
        self, server_args: ServerArgs, batch_size: int, *, is_draft_worker: bool = False
    ) -> int:
        """Tokens per request in one pass of the target (or of the drafter): what graph and input must agree on."""
        if self.is_none():
            return 1
        if self.is_ddtree() and not is_draft_worker:
            return ddtree_budget(server_args, batch_size) + 1
        return block_size(server_args)


def block_size(server_args: ServerArgs) -> int:
    """Tokens that the drafter fills in one pass, the last committed token included."""
    return server_args.speculative_num_draft_tokens or 1


def ddtree_budget(server_args: ServerArgs, batch_size: int) -> int:
    """Nodes of one request's tree at this batch size: the schedule's entry for the largest size not above it."""
    budget = server_args.speculative_ddtree_budget or DEFAULT_DDTREE_BUDGET
    schedule = parse_budget_schedule(server_args.speculative_ddtree_budget_schedule)
    sizes = [size for size in schedule if size <= batch_size]
    return schedule[max(sizes)] if sizes else budget


def parse_budget_schedule(text: str | None) -> Mapping[int, int]:
    """Read `{"1": 31, "8": 23}` or `1:31,8:23`: batch size to budget. Raises ValueError."""
    if not text:
        return {}
    try:
        is_json = text.lstrip().startswith("{")
        pairs = json.loads(text).items() if is_json else [item.split(":") for item in text.split(",")]
        schedule = {int(size): int(budget) for size, budget in pairs}
    except (ValueError, AttributeError):
        raise ValueError(f"--speculative-ddtree-budget-schedule is not a mapping of batch size to budget: {text}") from None
    if any(size < 1 or budget < 1 for size, budget in schedule.items()):
        raise ValueError(f"--speculative-ddtree-budget-schedule has sizes or budgets below 1: {text}")
    return schedule
