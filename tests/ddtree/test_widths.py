"""Widths: the draft pass is as wide as the block, the verify pass as the tree, and nothing mixes the two."""

from __future__ import annotations

import pytest

from sglang_ddtree.ddtree.options import BUDGET_VARIABLE, SCHEDULE_VARIABLE, TOPK_VARIABLE, read_options
from sglang_ddtree.ddtree.widths import WidthTable, width_table


def table(block: int = 8, environment: dict[str, str] | None = None) -> WidthTable:
    return width_table(read_options(environment or {}), block)


def test_the_story() -> None:
    """Block 8 and budget 32: the two numbers of the crash, each in its own place."""
    widths = table(8, {BUDGET_VARIABLE: "32"})
    assert (widths.draft_width, widths.verify_width) == (8, 33)
    assert widths.reserved_slots == 33
    assert widths.depth == 7


def test_defaults() -> None:
    widths = table()
    assert (widths.budget, widths.verify_width, widths.topk) == (31, 32, 8)
    assert [(entry.min_batch, entry.max_batch, entry.width) for entry in widths.verify] == [(1, None, 32)]


@pytest.mark.parametrize(("batch", "width"), [(0, 32), (1, 32), (7, 32), (8, 24), (31, 24), (32, 16), (48, 16), (500, 16)])
def test_schedule(batch: int, width: int) -> None:
    widths = table(8, {SCHEDULE_VARIABLE: "1:31,8:23,32:15"})
    entry = widths.verify_for(batch)
    assert entry.width == width == entry.budget + 1
    assert entry.min_batch <= max(batch, 1)
    assert entry.max_batch is None or batch <= entry.max_batch
    assert widths.verify_width == 32


@pytest.mark.parametrize(("budget", "cap", "topk"), [("31", "", 8), ("4", "", 4), ("63", "16", 16), ("7", "16", 7)])
def test_topk_is_clamped_to_the_budget(budget: str, cap: str, topk: int) -> None:
    assert table(8, {BUDGET_VARIABLE: budget, TOPK_VARIABLE: cap}).topk == topk


def test_a_large_block_reserves_for_the_block() -> None:
    assert table(16, {BUDGET_VARIABLE: "15"}).reserved_slots == 16
