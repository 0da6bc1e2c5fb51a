"""The budget schedule: a smaller tree for a larger running batch, since verify tokens stop being free there."""

from __future__ import annotations

from dataclasses import dataclass


class ScheduleError(ValueError):
    """The schedule's text can't be used."""


@dataclass(frozen=True, slots=True)
class BudgetStep:
    """From `min_batch` running requests on, trees have `budget` nodes."""

    min_batch: int
    budget: int


def parse_schedule(text: str) -> tuple[BudgetStep, ...]:
    """Read `1:31,8:23,32:15`. Raises ScheduleError, saying what is wrong."""
    steps = tuple(_step(part.strip(), text) for part in text.split(","))
    sizes = [step.min_batch for step in steps]
    if sizes != sorted(set(sizes)):
        raise ScheduleError(f"batch sizes must increase: {text!r}")
    if sizes[0] != 1:
        raise ScheduleError(f"the first batch size must be 1: {text!r}")
    return steps


def _step(part: str, text: str) -> BudgetStep:
    size, colon, budget = part.partition(":")
    if not colon or not _is_count(size) or not _is_count(budget):
        raise ScheduleError(f"expected batch:budget pairs of positive integers such as 1:31,8:23, got {text!r}")
    return BudgetStep(int(size), int(budget))


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 7 and int(word) > 0
