"""DDTree's own settings: server flags, or environment variables of the same meaning; a flag wins.

SGLang's ServerArgs has no room for a plugin's fields, so a flag is kept in its environment variable: ranks are started with this
process's environment and so read the same values.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .schedule import BudgetStep, parse_schedule

DEFAULT_BUDGET = 31
"""32 verify tokens fill whole blocks of the Triton attention kernel; 33 would cost another one."""
DEFAULT_TOPK = 8

BUDGET_VARIABLE = "SGLANG_DDTREE_BUDGET"
TOPK_VARIABLE = "SGLANG_DDTREE_TOPK_CAP"
SCHEDULE_VARIABLE = "SGLANG_DDTREE_BUDGET_SCHEDULE"
BLOCK_VARIABLE = "SGLANG_DDTREE_BLOCK_SIZE"

_FLAGS = (
    ("--speculative-ddtree-budget", BUDGET_VARIABLE, "Nodes of a draft tree; the verify pass has one token more. Default 31."),
    ("--speculative-ddtree-topk-cap", TOPK_VARIABLE, "Most candidates per depth. Default min(budget, 8)."),
    ("--speculative-ddtree-budget-schedule", SCHEDULE_VARIABLE, "Budget by running batch size, such as 1:31,8:23,32:15."),
)


class OptionError(ValueError):
    """A setting can't be used; the message names it."""


@dataclass(frozen=True, slots=True)
class DDTreeOptions:
    """Settings, completed and checked on their own (not yet against the drafter)."""

    budget: int
    topk: int
    steps: tuple[BudgetStep, ...]
    block_size: int | None


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags to SGLang's parser. `--speculative-dflash-block-size` is SGLang's own already."""
    for flag, variable, text in _FLAGS:
        parser.add_argument(flag, action=_ToEnvironment, metavar="N", const=variable, help=f"{text} Also {variable}.")


def read_options(environment: Mapping[str, str] | None = None, block_size: int | None = None) -> DDTreeOptions:
    """Complete the settings from the environment; `block_size` is what the flag said. Raises OptionError or ScheduleError."""
    source = os.environ if environment is None else environment
    text = source.get(SCHEDULE_VARIABLE, "").strip()
    steps = parse_schedule(text) if text else ()
    widest = max((step.budget for step in steps), default=DEFAULT_BUDGET)
    budget = _positive(source, BUDGET_VARIABLE) or widest
    if steps and widest > budget:
        raise OptionError(
            f"{SCHEDULE_VARIABLE} goes up to {widest} nodes, beyond the budget of {budget}; raise the budget to {widest}"
        )
    cap = _positive(source, TOPK_VARIABLE) or DEFAULT_TOPK
    if block_size is not None and block_size < 1:
        raise OptionError(f"--speculative-dflash-block-size must be a positive integer, got {block_size}")
    block = block_size if block_size is not None else _positive(source, BLOCK_VARIABLE)
    return DDTreeOptions(budget, min(cap, budget), steps or (BudgetStep(1, budget),), block)


def _positive(source: Mapping[str, str], variable: str) -> int | None:
    text = source.get(variable, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 7 and int(text) > 0):
        raise OptionError(f"{variable} must be a positive integer, got {text!r}")
    return int(text)


class _ToEnvironment(argparse.Action):
    """Keeps the flag's value in the environment variable named by `const`."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        _option_string: str | None = None,
    ) -> None:
        os.environ[str(self.const)] = str(values)
        setattr(namespace, self.dest, values)
