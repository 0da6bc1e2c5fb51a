"""Whole released trees, counted by hand in their sources, and the example inventory against them."""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
from pathlib import Path

import pytest

from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.runtime.parameters import (
    Differences,
    EffectKind,
    EnvironmentVariable,
    Parameter,
    compare,
    declared,
    environment,
    for_spec,
    problems,
)
from ddtree_ops.runtime.source.model import SourceTree
from ddtree_ops.runtime.source.tree import open_tree

from .. import trees, versions

EXAMPLE = versions.REPOSITORY / "inventories" / "example"


def _root(label: str) -> Path:
    """Where a version lies. Skips if it isn't there, or fails where make has promised it."""
    root = versions.folder() / label
    if not root.is_dir():
        missing = f"no source tree {root}; `python -m tests.runtime.versions {label}` fetches it"
        if os.environ.get(versions.FOLDER_VARIABLE):
            pytest.fail(missing)
        pytest.skip(missing)
    return root


@functools.cache
def _tree(label: str) -> SourceTree:
    return open_tree(_root(label))


@functools.cache
def _declared(label: str) -> tuple[Parameter, ...]:
    return declared(_tree(label))


@functools.cache
def _with_plugin(label: str) -> tuple[tuple[Parameter, ...], tuple[EnvironmentVariable, ...]]:
    both = (*_tree(label).files, *open_tree(trees.PLUGIN).files)
    tree = dataclasses.replace(_tree(label), files=tuple(sorted(both, key=lambda one: one.name)))
    return declared(tree), environment(tree)


@functools.cache
def _spec(host: str) -> tuple[tuple[str, ...], dict[str, str]]:
    known = load_fleet(EXAMPLE).host(host)
    return known.serving.server_argv(known.hardware), known.serving.environment_for(known.hardware)


@pytest.mark.parametrize("host", ["ct200", "b300"])
def test_a_sound_spec_has_no_problem(host: str) -> None:
    assert problems(*_spec(host), *_with_plugin(trees.IN_CI)) == ()


def test_every_flag_of_the_source_is_declared_and_no_other() -> None:
    path = _root(trees.IN_CI) / "sglang" / "srt" / "server_args.py"
    calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
    added = [one for one in calls if isinstance(one.func, ast.Attribute) and one.func.attr == "add_argument"]
    written = {arg.value for one in added for arg in one.args if isinstance(arg, ast.Constant)}
    found = {flag for one in _declared(trees.IN_CI) for flag in one.flags if not flag.startswith("--no-")}
    assert found == {flag for flag in written if not str(flag).startswith("--no-")}
    assert len(added) == 406


@pytest.mark.parametrize(
    ("name", "flags", "value", "parse"),
    [
        ("tp_size", ("--tensor-parallel-size", "--tp-size"), "1", "int"),
        ("mem_fraction_static", ("--mem-fraction-static",), "None", "float"),
        ("speculative_num_draft_tokens", ("--speculative-num-draft-tokens",), "None", "int"),
        ("watchdog_timeout", ("--watchdog-timeout",), "300", "float"),
    ],
)
def test_known_parameters(name: str, flags: tuple[str, ...], value: str, parse: str) -> None:
    one = next(one for one in _declared(trees.IN_CI) if one.name == name)
    assert (one.flags, one.value, one.parse, one.file) == (flags, value, parse, "sglang/srt/server_args.py")
    text = Path(_root(trees.IN_CI), one.file).read_text().splitlines()
    assert text[one.line - 1].strip().startswith(f"{name}:")
    assert any(flags[0] in near for near in text[(one.flag_line or 0) - 1 : (one.flag_line or 0) + 1])


@pytest.mark.versions
@pytest.mark.parametrize(
    ("label", "flags", "fields"), [("0.5.9", 331, 331), ("0.5.12.post1", 387, 387), ("0.5.23", 531, 548), ("vllm", 262, 267)]
)
def test_counts_of_other_versions(label: str, flags: int, fields: int) -> None:
    found = _declared(label)
    assert (sum(bool(one.flags) for one in found), len(found)) == (flags, fields)
    assert not [one.name for one in found if one.choices_open]


@pytest.mark.versions
def test_an_upgrade_of_the_example_to_a_later_version() -> None:
    (before, env_before), (after, env_after) = _with_plugin(trees.IN_CI), _with_plugin("0.5.23")
    differences: Differences = compare(before, after, env_before, env_after)
    effects = for_spec(differences, *_spec("ct200"))
    assert [(one.kind, one.name) for one in effects if one.breaks] == [(EffectKind.GONE, "--cuda-graph-max-bs")]
    assert {one.parameter.name for one in differences.changed} >= {"encoder_transfer_backend", "attention_backend"}
