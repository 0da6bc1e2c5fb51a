"""Variables of several hosts as one set."""

from __future__ import annotations

import pytest

from ddtree_ops.adapters.per_host import CHOICES, VALUES, extra_variables


def test_one_host_keeps_its_variables_as_they_are() -> None:
    assert extra_variables({"a": {"port": 1, "lock": "x"}}) == {"port": 1, "lock": "x"}


def test_what_differs_becomes_a_choice_by_host_and_each_value_stands_once() -> None:
    lock = "x==1\n" * 1000
    made = extra_variables({"a": {"port": 1, "lock": lock}, "b": {"port": 2, "lock": lock}, "c": {"port": 1, "lock": lock}})
    assert made["lock"] == lock
    assert made[VALUES] == {"port": [1, 2]}
    assert made[CHOICES] == {"a": {"port": 0}, "b": {"port": 1}, "c": {"port": 0}}
    assert made["port"] == "{{ ddtree_ops_values['port'][ddtree_ops_choices[inventory_hostname]['port']] }}"


def test_true_is_not_one() -> None:
    assert extra_variables({"a": {"x": 1}, "b": {"x": True}})[VALUES] == {"x": [1, True]}


def test_other_names_are_another_run() -> None:
    with pytest.raises(ValueError, match="same variables"):
        extra_variables({"a": {"x": 1}, "b": {"y": 1}})
