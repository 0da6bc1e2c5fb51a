"""What a secret's value may look like; the words never show it."""

from __future__ import annotations

import pytest

from ddtree_ops.fleet.secret_refs import value_problem


@pytest.mark.parametrize("value", ["k3y", "k3y\n", "a b", "~!'\"{{ x }}"])
def test_a_usable_value(value: str) -> None:
    assert value_problem(value) is None


@pytest.mark.parametrize("value", ["", "\n", "   ", "two\nlines", "schlüssel", " k3y", "k3y\n\n", "k\x1b[3y", "k\ty"])
def test_an_unusable_value(value: str) -> None:
    problem = value_problem(value)
    assert problem is not None
    assert not value.strip() or value.strip() not in problem
