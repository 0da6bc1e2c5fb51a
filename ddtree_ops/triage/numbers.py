"""What a number in an error message is, in terms of this run's arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ddtree_ops.triage.model import Number, ServerArgs

FROM_LOG = "server_args in the log"


@dataclass(slots=True)
class Facts:
    """What is known of the run's configuration. `block_size`: the draft model's, as the server printed it."""

    server_args: ServerArgs = field(default_factory=dict)
    block_size: int | None = None

    def integer(self, name: str) -> int | None:
        """An integer argument, or None."""
        value = self.server_args.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


class Width(NamedTuple):
    """A number of tokens per request that this configuration works with."""

    value: int
    name: str
    source: str


def token_widths(facts: Facts) -> list[Width]:
    """Tokens per request of the draft's and the target's passes, the most telling name first."""
    widths: list[Width] = []
    budget = facts.integer("speculative_ddtree_budget")
    if budget is not None:
        widths.append(Width(budget + 1, "speculative_ddtree_budget + 1", FROM_LOG))
    for name in ("speculative_dflash_block_size", "speculative_num_draft_tokens"):
        value = facts.integer(name)
        if value is not None and value > 0:
            widths.append(Width(value, name, FROM_LOG))
    if facts.block_size is not None:
        widths.append(Width(facts.block_size, "block size of the draft model", "the draft runner's log line"))
    widths += _scheduled(facts)
    return widths


def explain(value: int, facts: Facts) -> list[Number]:
    """Every token width that this number is, else a multiple of one, else arguments with that value, else that none has it."""
    widths = token_widths(facts)
    exact = [width for width in widths if width.value == value]
    if exact:
        return [Number(value, f"{width.name} = {value}", width.source) for width in exact]
    batch = max(facts.integer("cuda_graph_max_bs") or 0, facts.integer("max_running_requests") or 0)
    for width in widths:
        factor, rest = divmod(value, width.value)
        if not rest and 1 < factor <= batch and width.value > 1:
            return [Number(value, f"{factor} requests x {width.name} ({width.value}) = {value}", width.source)]
    if not facts.server_args:
        return []
    same = [name for name in facts.server_args if facts.integer(name) == value]
    if same:
        return [Number(value, f"{name} = {value}", FROM_LOG) for name in same[:3]]
    return [Number(value, f"in no argument of this run; one more than {value - 1}", f"not in {FROM_LOG}")]


def is_width(value: int, facts: Facts) -> bool:
    """Whether the number is a token width of this configuration, or a multiple of one by a possible batch."""
    widths = [width.value for width in token_widths(facts)]
    batch = max(facts.integer("cuda_graph_max_bs") or 1, facts.integer("max_running_requests") or 1)
    return any(value == width or (width > 1 and value % width == 0 and value // width <= batch) for width in widths)


def _scheduled(facts: Facts) -> list[Width]:
    schedule = facts.server_args.get("speculative_ddtree_budget_schedule")
    if not isinstance(schedule, dict):
        return []
    budgets = sorted({item for item in schedule.values() if isinstance(item, int)}, reverse=True)
    return [Width(item + 1, f"a budget of speculative_ddtree_budget_schedule ({item}) + 1", FROM_LOG) for item in budgets]
