"""What a number in an error message is, in terms of this run's arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.fingerprint import file_tail
from ddtree_ops.triage.model import Number, ServerArgs
from ddtree_ops.triage.server_args import is_secret

FROM_LOG = "server_args in the log"
FROM_SERVER_INFO = "server_info"
#: How the expression of a number begins that no argument gives.
IN_NO_ARGUMENT = "in no argument of this run"


@dataclass(slots=True)
class Facts:
    """What is known of the run's configuration. `block_size`: the draft model's, as the server printed it.

    `source`: where `server_args` are known from; `sources`: the names of those that are known from elsewhere.
    """

    server_args: ServerArgs = field(default_factory=dict)
    block_size: int | None = None
    source: str = FROM_LOG
    sources: Mapping[str, str] = field(default_factory=dict)

    def integer(self, name: str) -> int | None:
        """An integer argument, or None."""
        value = self.server_args.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def source_of(self, name: str) -> str:
        """Where an argument's value is known from."""
        return self.sources.get(name, self.source)


class Width(NamedTuple):
    """A number of tokens per request that this configuration works with; `parameter`: the argument that it is computed from."""

    value: int
    name: str
    source: str
    parameter: str = ""


def facts_from_server_info(data: object) -> Facts:
    """The arguments in what `/server_info` answers (SGLang 0.5.13.post1: all of them on the top level, and once more, as the
    scheduler has them by now, in `internal_states`); secrets left out. Anything else gives facts without arguments."""
    if not isinstance(data, dict):
        return Facts(source=FROM_SERVER_INFO)
    states = data.get("internal_states")
    state = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else {}
    args = {name: value for name, value in {**state, **data}.items() if isinstance(name, str) and not is_secret(name)}
    args.pop("internal_states", None)
    return Facts(args, source=FROM_SERVER_INFO)


def together(given: Facts, read: Facts) -> Facts:
    """What is known from elsewhere, completed by what the log says."""
    args = {**read.server_args, **given.server_args}
    sources = {**read.sources, **{name: given.source_of(name) for name in given.server_args}}
    return replace(read, server_args=args, block_size=given.block_size or read.block_size, sources=sources)


def token_widths(facts: Facts) -> list[Width]:
    """Tokens per request of the draft's and the target's passes, the most telling name first."""
    widths: list[Width] = []
    budget = facts.integer("speculative_ddtree_budget")
    if budget is not None:
        name = "speculative_ddtree_budget"
        widths.append(Width(budget + 1, f"{name} + 1", facts.source_of(name), name))
    for name in ("speculative_dflash_block_size", "speculative_num_draft_tokens"):
        value = facts.integer(name)
        if value is not None and value > 0:
            widths.append(Width(value, name, facts.source_of(name), name))
    if facts.block_size is not None:
        widths.append(Width(facts.block_size, "block size of the draft model", "the draft runner's log line"))
    widths += _scheduled(facts)
    return widths


def explain(value: int, facts: Facts, frames: Sequence[Frame] = (), *, tell_unknown: bool = True) -> list[Number]:
    """Every token width that this number is, else a multiple of one, else arguments with that value, else that none has it.

    `frames`: of the exception, the raising one last; what their code and files speak of comes first. `tell_unknown`: whether
    it is worth telling that no argument has the number.
    """
    widths = token_widths(facts)
    exact = [Number(value, f"{width.name} = {value}", width.source, width.parameter) for width in widths if width.value == value]
    if exact:
        return _ranked(exact, frames)
    batch = max(facts.integer("cuda_graph_max_bs") or 0, facts.integer("max_running_requests") or 0)
    for width in (item for item in widths if item.value > 1):  # a log may print a budget of -1, or a block size of 0
        factor, rest = divmod(value, width.value)
        if not rest and 1 < factor <= batch:
            expression = f"{factor} requests x {width.name} ({width.value}) = {value}"
            return [Number(value, expression, width.source, width.parameter)]
    if not facts.server_args:
        return []
    same = [
        Number(value, f"{name} = {value}", facts.source_of(name), name)
        for name in facts.server_args
        if facts.integer(name) == value
    ]
    if same:
        return _ranked(same, frames)[:3]
    if not tell_unknown:
        return []
    return [Number(value, f"{IN_NO_ARGUMENT}; one more than {value - 1}", f"not in {facts.source}")]


def is_width(value: int, facts: Facts) -> bool:
    """Whether the number is a token width of this configuration, or a multiple of one by a possible batch."""
    widths = [width.value for width in token_widths(facts)]
    batch = max(facts.integer("cuda_graph_max_bs") or 1, facts.integer("max_running_requests") or 1)
    return any(value == width or (width > 1 and value % width == 0 and value // width <= batch) for width in widths)


_WORD = re.compile(r"[a-z]+")
#: Say nothing by themselves: they stand in too many names.
_COMMON = frozenset({"speculative", "num", "max", "size", "tokens", "of", "the", "a", "model", "in", "enable", "disable"})


def _ranked(numbers: list[Number], frames: Sequence[Frame]) -> list[Number]:
    """Stable: those that more of the innermost frames' words speak of come first."""
    spoken = [
        set(_WORD.findall(f"{frame.code or ''} {frame.function or ''} {file_tail(frame)}".lower())) for frame in frames[-6:]
    ]

    def weight(number: Number) -> int:
        words = set(_WORD.findall(number.expression.lower())) - _COMMON
        return sum((index + 1) * len(words & said) for index, said in enumerate(spoken))

    return sorted(numbers, key=weight, reverse=True)


def _scheduled(facts: Facts) -> list[Width]:
    name = "speculative_ddtree_budget_schedule"
    schedule = facts.server_args.get(name)
    if not isinstance(schedule, dict):
        return []
    budgets = sorted({item for item in schedule.values() if isinstance(item, int)}, reverse=True)
    return [Width(item + 1, f"a budget of {name} ({item}) + 1", facts.source_of(name), name) for item in budgets]
