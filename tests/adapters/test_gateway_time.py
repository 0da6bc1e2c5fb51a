"""Times as --since takes them."""

from __future__ import annotations

import pytest

from ddtree_ops.adapters.gateway_time import since_us
from ddtree_ops.errors import UsageError

NOW = 1_795_977_363.5


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("now", NOW),
        ("-2h", NOW - 7200),
        ("-1h30min", NOW - 5400),
        ("-90", NOW - 90),
        ("2 days ago", NOW - 2 * 86_400),
        ("@1795977363.25", 1_795_977_363.25),
        ("2026-11-29 18:36:00 UTC", 1_795_977_360),
        ("2026-11-29T18:36:00.5 UTC", 1_795_977_360.5),
        ("2026-11-29 UTC", 1_795_910_400),
        ("18:36 UTC", 1_795_977_360),
        ("today UTC", 1_795_910_400),
        ("yesterday UTC", 1_795_824_000),
    ],
)
def test_since(text: str, seconds: float) -> None:
    assert since_us(text, NOW) == round(seconds * 1e6)


@pytest.mark.parametrize("text", ["", "-", "soon", "-2 fortnights", "2026-13-01", "@x", "-1h;rm"])
def test_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="no time"):
        since_us(text, NOW)
