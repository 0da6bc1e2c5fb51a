"""Durations, the reference, and specs made in Python."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ddtree_ops.fleet.duration import format_duration, parse_duration
from ddtree_ops.fleet.hardware import B300_8X
from ddtree_ops.fleet.reference import spec_reference
from ddtree_ops.fleet.spec import ServingSpec, is_loopback


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("168h", 604800), (90, 90), ("90", 90), ("90s", 90), ("15m", 900), ("1h", 3600), ("1h30m", 5400), ("1h1s", 3601)],
)
def test_durations(written: object, seconds: int) -> None:
    assert parse_duration(written) == seconds
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    "written",
    ["", "m", "1d", "1m1h", "-5", "1.5h", 0, -1, True, None, 1.5, "٣s", " 5s", "169h", 10**30, "9" * 5000, "999999999999999h"],
)
def test_not_durations(written: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(written)


def test_reference_names_every_key() -> None:
    rows = spec_reference().splitlines()
    keys = [row.split("`")[1] for row in rows[2:]]
    for field in ServingSpec.model_fields:
        assert field in keys
    for key in ("ddtree.budget_schedule", "runtime.lock", "smoke[].max_tokens", "model.bytes"):
        assert key in keys
    assert all(row.count("|") - row.count("\\|") == 5 for row in rows), "a cell breaks the table"
    assert "| `load_budget` | duration | `30m` |" in spec_reference()


def test_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.1")))  # noqa: S104


def test_a_spec_never_changes() -> None:
    spec = ServingSpec.model_validate({"model": {"path": "/m"}, "server_args": {"tp_size": 4}})
    assert spec.server_args == {"tp-size": 4}
    with pytest.raises(ValidationError):
        spec.port = 1
    assert spec.server_argv(B300_8X) == spec.server_argv(B300_8X)
