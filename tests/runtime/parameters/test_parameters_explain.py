"""One parameter from the spec to the running server."""

from __future__ import annotations

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime.parameters import Write, declared, explain, find

from .tree_cases import case_tree

DECLARED = declared(case_tree("argparse_calls"))


@pytest.mark.parametrize("name", ["tp_size", "--tp", "tp", "--tensor-parallel-size", "tensor-parallel-size", "tp-size"])
def test_a_parameter_is_found_by_any_of_its_names(name: str) -> None:
    assert find(name, DECLARED).name == "tp_size"


def test_an_unknown_one_says_what_is_near() -> None:
    with pytest.raises(UsageError, match="no server argument windw") as raised:
        find("windw", DECLARED)
    assert raised.value.hint == "did you mean window?"


def test_a_hostile_name_is_shown_harmless() -> None:
    with pytest.raises(UsageError) as raised:
        find("\x1b[31mred", DECLARED)
    assert "\x1b" not in raised.value.message


@pytest.mark.parametrize(
    ("name", "argv", "resolved", "requested", "changed"),
    [
        ("window", ("--window", "3"), {"window": 3}, "3", False),
        ("window", ("--window", "3"), {"window": 33}, "3", True),
        ("window", (), {"window": 16}, None, False),
        ("window", (), {"window": 33}, None, True),
        ("window", ("--window", "3"), None, "3", None),
        ("window", ("--window", "3"), {}, "3", None),
        ("fraction", ("--fraction", "0.80"), {"fraction": 0.8}, "0.80", False),
        ("quiet", ("--quiet",), {"quiet": True}, "True", False),
        ("wide", ("--no-wide",), {"wide": False}, "False", False),
        ("limits", ("--limits", '{"a":1}'), {"limits": {"a": 1}}, '{"a":1}', False),
        ("labels", ("--labels", "x", "y"), {"labels": ["x", "y"]}, "x y", False),
        ("skip", (), {"skip": ["a", "b"]}, None, False),
        ("colour", ("--old-colour", "green"), {"colour": "green"}, "green", False),
        ("tp_size", ("--tp", "2", "--tp-size", "4"), {"tp_size": 4}, "4", False),
    ],
)
def test_requested_against_resolved(
    name: str, argv: tuple[str, ...], resolved: dict[str, object] | None, requested: str | None, changed: bool | None
) -> None:
    found = explain(find(name, DECLARED), argv, DECLARED, resolved=resolved)
    assert (found.requested.value if found.requested else None, found.changed) == (requested, changed)


def test_where_each_value_comes_from() -> None:
    write = Write("sglang/srt/server_args.py", 9, "__post_init__", "self.window = 33")
    argv = ("--window", "3")
    origins = {"window": "ddtree_serving.server_args"}
    found = explain(find("window", DECLARED), argv, DECLARED, resolved={"window": 33}, writes=[write], origins=origins)
    assert found.requested is not None and found.requested.origin == "ddtree_serving.server_args"
    assert found.default is not None and (found.default.value, found.default.origin) == ("16", "sglang/srt/server_args.py:38")
    assert found.resolved is not None and (found.resolved.value, found.resolved.origin) == ("33", "/server_info")
    assert found.writes == (write,)
