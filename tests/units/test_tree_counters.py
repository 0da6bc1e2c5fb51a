"""Growth of counters: series summed, ranks not counted twice, resets and missing series told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddtree_ops.units.tree_counters import Growth, NoGrowth, growth, read_counters


def page(*, labels: str = "", **values: float) -> bytes:
    return "".join(f"sglang_ddtree_{name}_total{labels} {value}\n" for name, value in values.items()).encode()


BEFORE = page(committed_tokens=10, accepted_tokens=6, verify_steps=4)


def grown(before: bytes, after: bytes) -> Growth | NoGrowth:
    return growth(read_counters(before), read_counters(after))


def test_what_was_added() -> None:
    after = page(committed_tokens=50, accepted_tokens=36, verify_steps=12, proposed_tokens=310, graph_fallbacks=1)
    found = grown(BEFORE, after)
    assert found == Growth(committed=40, accepted=30, passes=8, proposed=310, fallbacks=1)
    assert found.steps == 10


def test_series_of_other_labels_are_added_up() -> None:
    two = [page(labels=f'{{dp_rank="{n}"}}', committed_tokens=20 + n, accepted_tokens=10, verify_steps=10) for n in (0, 1)]
    assert grown(b"", two[0] + two[1]) == Growth(41, 20, 20, 0, 0)


def test_ranks_of_one_step_count_once() -> None:
    ranks = [page(labels=f'{{tp_rank="{n}"}}', committed_tokens=20, accepted_tokens=10, verify_steps=10) for n in range(8)]
    assert grown(b"", b"".join(ranks)) == Growth(20, 10, 10, 0, 0)


def test_a_new_series_counts_from_zero() -> None:
    assert grown(b"", BEFORE) == Growth(10, 6, 4, 0, 0)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (BEFORE, page(committed_tokens=3, accepted_tokens=2, verify_steps=1), "fell from 10 to 3"),
        (BEFORE, page(labels='{model_name="x"}', committed_tokens=30, accepted_tokens=20, verify_steps=9), "vanished"),
        (BEFORE, b"", "has no sglang_ddtree_committed_tokens_total, sglang_ddtree_accepted_tokens_total"),
        (BEFORE, b"sglang:spec_accept_length 3.2\n", "has no"),
        (b"", page(committed_tokens=30, verify_steps=9), "has no sglang_ddtree_accepted_tokens_total"),
        (b"", page(committed_tokens=float("nan"), accepted_tokens=2, verify_steps=9), "no sglang_ddtree_committed_tokens_total"),
        (b"", page(committed_tokens=float("inf"), accepted_tokens=2, verify_steps=9), "no sglang_ddtree_committed_tokens_total"),
        (b"", page(committed_tokens=1.7e308, accepted_tokens=2, verify_steps=9), "no sglang_ddtree_committed_tokens_total"),
        (b"", page(committed_tokens=3, accepted_tokens=5, verify_steps=9), "can't be"),
    ],
)  # fmt: skip
def test_what_can_not_be_compared(before: bytes, after: bytes, reason: str) -> None:
    found = grown(before, after)
    assert isinstance(found, NoGrowth)
    assert reason in found.reason


def test_the_plugins_own_page() -> None:
    """Written by its PrometheusMetrics with prometheus_client 0.26.0 in multi-process mode, after steps of (3, 5, 1) and (8)."""
    body = (Path(__file__).parent / "pages" / "ddtree_metrics.txt").read_bytes()
    found = grown(b"", body)
    assert found == Growth(committed=17, accepted=13, passes=2, proposed=124, fallbacks=1)
    assert found.steps == 4
