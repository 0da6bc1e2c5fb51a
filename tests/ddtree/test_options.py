"""Flags and environment variables mean the same; a flag wins; nonsense is named."""

from __future__ import annotations

import argparse
import os

import pytest

from sglang_ddtree.ddtree.options import (
    BLOCK_VARIABLE,
    BUDGET_VARIABLE,
    SCHEDULE_VARIABLE,
    TOPK_VARIABLE,
    OptionError,
    add_flags,
    read_options,
)
from sglang_ddtree.ddtree.schedule import BudgetStep, ScheduleError, parse_schedule


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (BLOCK_VARIABLE, BUDGET_VARIABLE, SCHEDULE_VARIABLE, TOPK_VARIABLE):
        monkeypatch.setenv(variable, "")


def parse(*words: str) -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    parser.parse_args(words)


def test_a_flag_wins_over_the_environment_and_reaches_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BUDGET_VARIABLE, "15")
    assert read_options().budget == 15
    parse("--speculative-ddtree-budget", "63", "--speculative-ddtree-topk-cap", "4")
    assert os.environ[BUDGET_VARIABLE] == "63"
    options = read_options()
    assert (options.budget, options.topk) == (63, 4)


def test_parsing_without_the_flags_leaves_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BUDGET_VARIABLE, "15")
    parse()
    assert read_options().budget == 15


def test_schedule_flag() -> None:
    parse("--speculative-ddtree-budget-schedule", "1:23, 8:15")
    options = read_options()
    assert options.budget == 23
    assert options.steps == (BudgetStep(1, 23), BudgetStep(8, 15))


def test_block_size_flag_wins() -> None:
    assert read_options({BLOCK_VARIABLE: "16"}).block_size == 16
    assert read_options({BLOCK_VARIABLE: "16"}, block_size=8).block_size == 8
    assert read_options({}).block_size is None


@pytest.mark.parametrize("size", [0, -8])
def test_a_block_size_that_is_none_is_not_passed_over(size: int) -> None:
    with pytest.raises(OptionError, match="--speculative-dflash-block-size"):
        read_options({}, block_size=size)


@pytest.mark.parametrize("value", ["0", "-3", "x", "1.5", "1e3", "٣", "99999999"])
@pytest.mark.parametrize("variable", [BUDGET_VARIABLE, TOPK_VARIABLE, BLOCK_VARIABLE])
def test_numbers_must_be_positive(variable: str, value: str) -> None:
    with pytest.raises(OptionError, match=variable):
        read_options({variable: value})


def test_a_schedule_beyond_the_budget_is_refused_with_the_fix() -> None:
    with pytest.raises(OptionError, match="raise the budget to 31"):
        read_options({SCHEDULE_VARIABLE: "1:31", BUDGET_VARIABLE: "15"})


@pytest.mark.parametrize(
    "text", ["", "1", "1:", ":31", "1:31,", "1:31,8", "8:31", "1:31,1:15", "1:31,9:7,8:7", "1:0", "1:-1", "a:b", "1=31"]
)
def test_schedules_that_can_not_be_read(text: str) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(text)
