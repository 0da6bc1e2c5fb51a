"""What a runtime doesn't take, against argparse as the judge."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddtree_ops.runtime.parameters import EnvironmentVariable, Parameter, Problem, declared, environment, problems

from .tree_cases import case_tree, tree_of

TREE = case_tree("argparse_calls")
DECLARED = declared(TREE)
_FILLERS = tuple(EnvironmentVariable(f"SGLANG_FILLER_{n}", None, "f.py", n, "sglang") for n in range(20))
ENVIRONMENT = (*environment(case_tree("environment")), *_FILLERS)
REQUIRED = ("--model-path", "m")


def _kinds(found: Sequence[Problem]) -> list[str]:
    return [str(one.kind) for one in found]


def _of(*argv: str) -> tuple[Problem, ...]:
    return problems((*REQUIRED, *argv), {}, DECLARED, ())


@pytest.mark.parametrize(
    ("argv", "kind", "fix"),
    [
        (("--colur", "red"), "unknown_argument", "--colour"),
        (("--size-of-nothing-known", "1"), "unknown_argument", "leave it out"),
        (("stray",), "unknown_argument", "leave the rest out"),
        (("--wi", "3"), "ambiguous_argument", "in full"),
        (("--window", "three"), "wrong_type", "a whole number"),
        (("--fraction", "1,5"), "wrong_type", "a number"),
        (("--limits", "{'a': 1}"), "wrong_type", "JSON"),
        (("--colour", "rad"), "not_a_choice", "red"),
        (("--window",), "missing_value", "--window"),
        (("--quiet=yes",), "unexpected_value", "--quiet"),
        (("--quiet", "yes"), "unknown_argument", "no value"),
        (("--old-colour", "red"), "deprecated_argument", "--colour"),
        (("--gone",), "deprecated_argument", "--quiet"),
        (("--tp", "2", "--tp-size", "4"), "repeated_argument", "4"),
        (("--model", "other"), "repeated_argument", "other"),
    ],
)
def test_each_mistake_is_named_with_its_mend(argv: tuple[str, ...], kind: str, fix: str) -> None:
    found = _of(*argv)
    assert _kinds(found) == [kind]
    assert fix in found[0].fix


@pytest.mark.parametrize(
    "argv",
    [
        ("--colour", "blue", "--window", "3", "--quiet"),
        ("--colour=red",),
        ("--fraction", "-0.5"),
        ("--skip",),
        ("--skip", "a", "b", "--labels", "x", "y"),
        ("--no-wide",),
        ("--frac", "1e3"),
        ("--limits", '{"a": 1}'),
        ("--quiet", "--quiet"),
        ("--mode", "partial", "--parser", "auto"),
    ],
)
def test_what_is_right_is_no_problem(argv: tuple[str, ...]) -> None:
    assert _of(*argv) == ()


def test_a_required_argument_is_missed() -> None:
    assert _kinds(problems(("--quiet",), {}, DECLARED, ())) == ["missing_argument"]


def test_choices_that_a_plugin_adds_to_arent_judged() -> None:
    known = declared(case_tree("plugin_flags"))
    assert problems(("--algorithm", "two", "--tree-budget", "3"), {}, known, ()) == ()
    assert _kinds(problems(("--tree-budget", "x"), {}, known, ())) == ["wrong_type"]


def test_a_problem_says_where_it_is_declared() -> None:
    (one,) = _of("--colour", "rad")
    assert (one.file, one.line, one.certain) == ("sglang/srt/server_args.py", 49, True)


@pytest.mark.parametrize(
    "argv",
    [
        ("a/model", "--port", "9"),
        ("a/model", "-d=half"),
        ("a/model", "-dhalf"),
        ("--no-eager",),
        ("--tags", "x", "--tags", "y"),
        ("--port", "10k"),
        ("--dtype", "None"),
    ],
)
def test_what_vllm_takes_is_no_problem(argv: tuple[str, ...]) -> None:
    assert problems(argv, {}, declared(case_tree("derived_from_types")), ()) == ()


def test_nothing_declared_judges_nothing() -> None:
    assert problems(("--anything", "goes"), {"SGLANG_ANYTHING": "1"}, (), ()) == ()


@pytest.mark.parametrize(
    ("name", "value", "kind", "fix"),
    [
        ("SGLANG_LOUDD", "1", "unknown_environment", "SGLANG_LOUD"),
        ("SGLANG_NOISY", "1", "deprecated_environment", "SGLANG_LOUD"),
        ("SGLANG_LATE", "1.5", "deprecated_environment", "--late"),
        ("SGL_LOUD", "1", "deprecated_environment", "SGLANG_LOUD"),
        ("SGLANG_LOUD", "maybe", "wrong_environment_value", "true or false"),
        ("SGLANG_STEPS", "few", "wrong_environment_value", "whole number"),
    ],
)
def test_each_mistake_in_the_environment_is_named(name: str, value: str, kind: str, fix: str) -> None:
    found = problems((), {name: value}, (), ENVIRONMENT)
    assert _kinds(found) == [kind]
    assert fix in found[0].fix
    assert not found[0].certain


def test_variables_of_others_and_those_that_are_read_are_no_problem() -> None:
    given = {
        "NCCL_DEBUG": "INFO",
        "FLASHINFER_X": "1",
        "MY_OWN": "",
        "SGLANG_LOUD": "True",
        "SGLANG_SPLIT": "x",
        "SGLANG_MENTIONED": "1",
    }
    assert problems((), given, (), ENVIRONMENT) == ()


def test_part_of_a_source_doesnt_tell_what_the_rest_reads() -> None:
    few = environment(tree_of({"sglang/a.py": b"import os\nos.getenv('SGLANG_A')\n"}))
    assert problems((), {"SGLANG_B": "1"}, (), few) == ()


_WORDS = st.one_of(
    st.sampled_from([flag for one in DECLARED for flag in one.flags]),
    st.sampled_from(
        ["--colour=red", "--colour=x", "--w", "--tp", "--qui", "--no-w", "--nope", "--frac=1", "-1", "-1.5", "--model=m"]
    ),
    st.sampled_from(["red", "1", "1.5", "x", "{}", "none", "4k", ""]),
)


def _parser(parameters: Sequence[Parameter]) -> argparse.ArgumentParser:
    """A parser of argparse's own with the same flags."""
    parser = argparse.ArgumentParser(add_help=False)
    read = {"int": int, "float": float, "json.loads": __import__("json").loads}
    for one in parameters:
        if not one.flags:
            continue
        given: dict[str, object] = {"dest": one.name, "required": one.required}
        if any(flag.startswith("--no-") for flag in one.flags):
            parser.add_argument(
                *(flag for flag in one.flags if not flag.startswith("--no-")), action=argparse.BooleanOptionalAction
            )
        elif one.nargs == "0":
            parser.add_argument(*one.flags, action="store_true", **given)  # type: ignore[arg-type]
        else:
            nargs = one.nargs if one.nargs in (None, "+", "*", "?") else int(one.nargs)
            parser.add_argument(*one.flags, nargs=nargs, choices=one.choices, type=read.get(one.parse or "", str), **given)  # type: ignore[arg-type]
    return parser


_JUDGE = _parser(DECLARED)


@settings(max_examples=300, deadline=None)
@given(st.lists(_WORDS, max_size=7))
def test_argparse_refuses_exactly_what_is_a_certain_problem(words: list[str]) -> None:
    argv = [*REQUIRED, *words]
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            _JUDGE.parse_args(argv)
            refused = False
        except SystemExit:
            refused = True
    assert any(one.certain for one in problems(argv, {}, DECLARED, ())) is refused, argv
