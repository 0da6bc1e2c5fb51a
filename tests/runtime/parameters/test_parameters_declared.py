"""Declared parameters of small trees, against what is written in them, and against argparse where the tree can be run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from ddtree_ops.runtime.parameters import declared, environment
from ddtree_ops.runtime.source.model import SourceFile, SourceTree
from tests.hang import ends

from .tree_cases import CASES, as_data, case_tree, tree_of

_NAMES = sorted(folder.name for folder in CASES.iterdir())
_ASK_ARGPARSE = """
import argparse, json
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser(add_help=False)
ServerArgs.add_cli_args(parser)
print(json.dumps([
    [list(one.option_strings), None if one.choices is None else list(one.choices),
     None if one.nargs is None else str(one.nargs), one.required, None if one.default == argparse.SUPPRESS else repr(one.default)]
    for one in parser._actions]))
"""


@pytest.mark.parametrize("name", _NAMES)
def test_a_tree_declares_what_is_written_in_it(name: str) -> None:
    tree = case_tree(name)
    found = environment(tree) if name == "environment" else declared(tree)
    assert as_data(found) == json.loads((CASES / name / "expected.json").read_text())


@pytest.mark.processes
def test_argparse_itself_has_the_same_flags(tmp_path: Path) -> None:
    for file in case_tree("argparse_calls").files:
        path = tmp_path / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.read())
    done = subprocess.run([sys.executable, "-c", _ASK_ARGPARSE], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = {one.flags: one for one in declared(case_tree("argparse_calls")) if one.flags}
    for flags, choices, nargs, required, default in json.loads(done.stdout):
        ours = found.pop(_ordered(flags, found))
        assert (ours.choices and sorted(ours.choices)) == (choices and sorted(choices)), flags
        assert (ours.nargs, ours.required) == (nargs, required), flags
        if default is not None and ours.value is not None and not ours.deprecated:
            assert ours.value == default, flags
    assert not found


def _ordered(flags: list[str], known: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return next(one for one in known if set(one) == set(flags))


def _server(body: str) -> SourceTree:
    return tree_of({"sglang/srt/server_args.py": body.encode()})


_ONE = """class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--one", default={default})
        parser.add_argument("--two", type=int)
"""


@pytest.mark.parametrize(
    "default",
    [
        "-" * 300 + "1",
        "[" * 80 + "]" * 80,
        "+".join(["'x'"] * 800),
        "'x' * 10**9",
        "(10**9)**(10**9)",
        "1 << 10**9",
        "[[1] * 10**6] * 10**6",
        "{[]: 1}",
        "ServerArgs.one.two",
        "LOOP",
    ],
    ids=lambda one: one[:12],
)
def test_a_default_that_would_hang_or_kill_is_just_not_known(default: str) -> None:
    tree = _server("LOOP = OTHER\nOTHER = LOOP\n" + _ONE.format(default=default))
    found = declared(tree)
    assert [one.name for one in found] == ["one", "two"]
    assert len(found[0].default or "") <= 300


@pytest.mark.parametrize(
    "content",
    [
        b"class ServerArgs(:\n",
        b"\xff\xfe\x00",
        b"a = 1\x00",
        b"(" * 5000,
        b"a = " + b"-" * 50_000 + b"1",
        b"# coding: nonsense\n",
        b"",
    ],
    ids=lambda one: repr(one[:12]),
)
def test_what_cant_be_parsed_declares_nothing(content: bytes) -> None:
    tree = tree_of({"sglang/srt/server_args.py": content, "sglang/srt/environ.py": b"class Envs:\n" + content})
    assert declared(tree) == ()
    assert environment(tree) == ()


def test_a_file_that_vanished_declares_nothing(tmp_path: Path) -> None:
    tree = SourceTree("gone", None, (SourceFile("sglang/srt/server_args.py", tmp_path / "gone.py"),))
    assert declared(tree) == () == environment(tree)


def test_a_class_that_is_its_own_base_and_functions_that_call_each_other_come_to_an_end() -> None:
    body = """class ServerArgs(ServerArgs):
    x: int = ServerArgs.x
    def add_cli_args(parser):
        more(parser)
def more(parser):
    ServerArgs.add_cli_args(parser)
    more(parser)
    parser.add_argument("--x", type=int, default=ServerArgs.x)
"""
    assert [one.flags for one in declared(_server(body))] == [("--x",)]


def test_a_loop_over_very_many_is_bounded() -> None:
    names = ", ".join(f'"--f{number}"' for number in range(30_000))
    tree = _server(
        f"NAMES = [{names}]\nclass ServerArgs:\n  def add_cli_args(parser):\n    for n in NAMES:\n      parser.add_argument(n)\n"
    )
    assert len(declared(tree)) <= 5_000


def test_another_place_of_the_class_is_found_by_its_name() -> None:
    tree = tree_of({"sglang/srt/elsewhere.py": _ONE.format(default=1).encode()})
    assert [one.flags for one in declared(tree)] == [("--one",), ("--two",)]


@pytest.mark.parametrize(
    "content",
    [
        b"env" * 400_000,
        b"os.environ.get(" * 60_000,
        b"SGLANG_" + b"A" * 1_000_000,
        b"A" * 1_000_000 + b" = 'SGLANG_X'",
        b"os.getenv('AAA', " + b"(" * 500_000,
        b"x = os.environ.get('SGLANG_A', 1)\n" * 30_000,
    ],
    ids=["env", "calls", "name", "constant", "brackets", "lines"],
)
def test_a_generated_file_is_read_to_the_end(content: bytes) -> None:
    tree = tree_of({"sglang/srt/generated.py": content})
    with ends():
        assert len(environment(tree)) <= 3
