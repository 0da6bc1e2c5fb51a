"""Two trees compared, and what the later one does to a command line."""

from __future__ import annotations

import pytest

from ddtree_ops.runtime.parameters import EffectKind, Evidence, Parameter, What, compare, declared, environment, for_spec

from .tree_cases import tree_of

_HEAD = "import argparse\nclass ServerArgs:\n    @staticmethod\n    def add_cli_args(parser):\n"


def _args(*calls: str) -> tuple[Parameter, ...]:
    body = _HEAD + "".join(f"        parser.add_argument({call})\n" for call in calls)
    return declared(tree_of({"sglang/srt/server_args.py": body.encode()}))


BEFORE = _args(
    '"--kept", type=int, default=1, help="Stays as it is."',
    '"--moved", type=int, default=2, help="Moves to another name in the next version."',
    '"--shared", "--also-shared", type=int, default=3',
    '"--before-place"',
    '"--max-batch-size", type=int, default=4, help="How many at once."',
    '"--after-place"',
    '"--aliased", choices=["a", "b"]',
    '"--mode", choices=["x", "y"], default="x"',
    '"--gone", action="store_true", help="No more."',
    '"--typed", type=float',
    '"--short", help="Is called longer in the next version."',
    '"--relied", type=int, default=8',
    '"--steps", type=int',
)
AFTER = _args(
    '"--kept", type=int, default=1, help="Stays as it is."',
    '"--elsewhere", type=int, default=2, help="Moves to another name in the next version."',
    '"--of-all", "--also-shared", type=int, default=3',
    '"--before-place"',
    '"--max-batches-size", type=int, default=4, help="Another text altogether."',
    '"--after-place"',
    '"--now", choices=["a", "b"]',
    '"--aliased", action=DeprecatedAliasStoreAction, new_flag="--now", dest="now", choices=["a", "b"]',
    '"--mode", choices=["x", "z"], default="z"',
    '"--typed", type=int',
    '"--short-of", help="Is called longer in the next version."',
    '"--relied", type=int, default=16',
    '"--steps-first", type=int',
    '"--steps-last", type=int',
    '"--fresh", help="New."',
)
DIFFERENCES = compare(BEFORE, AFTER)


def test_renames_are_found_by_what_tells_so() -> None:
    found = {(one.before.name, one.after.name): one.evidence for one in DIFFERENCES.renamed}
    assert found == {
        ("moved", "elsewhere"): Evidence.HELP,
        ("short", "short_of"): Evidence.HELP,
        ("shared", "of_all"): Evidence.FLAG,
        ("max_batch_size", "max_batches_size"): Evidence.PLACE,
    }


def test_what_comes_and_goes() -> None:
    assert [one.name for one in DIFFERENCES.added] == ["now", "steps_first", "steps_last", "fresh"]
    assert [one.name for one in DIFFERENCES.removed] == ["gone", "steps"]
    assert not DIFFERENCES.empty
    assert compare(AFTER, AFTER).empty


def test_two_without_a_help_text_are_not_the_same_for_that() -> None:
    assert compare(_args('"--first"'), _args('"--unlike"')).renamed == ()
    alike = 'help="Deprecated."'
    assert compare(_args(f'"--first", {alike}'), _args(f'"--unlike", {alike}')).renamed == ()


def test_changed_properties() -> None:
    found = {(one.parameter.name, one.what): (one.before, one.after) for one in DIFFERENCES.changed}
    assert found[("mode", What.CHOICES)] == ("x, y", "x, z")
    assert found[("mode", What.DEFAULT)] == ("'x'", "'z'")
    assert found[("typed", What.TYPE)] == ("float", "int")
    assert found[("relied", What.DEFAULT)] == ("8", "16")
    assert not any(name == "kept" for name, _ in found)


@pytest.mark.parametrize(
    ("argv", "kind", "breaks", "part"),
    [
        (("--gone",), EffectKind.GONE, True, "gone"),
        (("--moved", "3"), EffectKind.RENAMED, True, "--elsewhere"),
        (("--short", "x"), EffectKind.RENAMED, False, "--short-of"),
        (("--mode", "y"), EffectKind.REFUSED, True, "choices"),
        (("--typed", "0.5"), EffectKind.REFUSED, True, "whole number"),
        (("--aliased", "a"), EffectKind.DEPRECATED, False, "--now"),
        (("--steps", "3"), EffectKind.GONE, True, "--steps-first"),
    ],
)
def test_what_an_upgrade_does_to_an_argument(argv: tuple[str, ...], kind: EffectKind, breaks: bool, part: str) -> None:
    rest = ("--relied", "8", "--mode", "x") if argv[0] != "--mode" else ("--relied", "8")
    (one,) = for_spec(DIFFERENCES, (*argv, *rest), {})
    assert (one.kind, one.breaks) == (kind, breaks)
    assert part in one.message + one.fix


def test_a_default_that_a_spec_relies_on() -> None:
    found = for_spec(DIFFERENCES, ("--mode", "x"), {})
    assert [(one.kind, one.name) for one in found] == [(EffectKind.DEFAULT_CHANGED, "relied")]
    assert "from 8 to 16" in found[0].message
    assert for_spec(DIFFERENCES, ("--mode", "x", "--relied", "4"), {}) == ()


def test_what_was_wrong_before_is_no_effect_of_the_upgrade() -> None:
    assert for_spec(DIFFERENCES, ("--never-was", "--relied", "1", "--mode", "x"), {}) == ()


def test_the_environment() -> None:
    filler = "".join(f"    SGLANG_F{n} = EnvBool(False)\n" for n in range(20))
    before = environment(
        tree_of({"sglang/e.py": f"class Envs:\n{filler}    SGLANG_A = EnvInt(1)\n    SGLANG_B = EnvBool(True)\n".encode()})
    )
    after = environment(
        tree_of({"sglang/e.py": f"class Envs:\n{filler}    SGLANG_A = EnvInt(2)\n    SGLANG_C = EnvBool(True)\n".encode()})
    )
    found = compare((), (), before, after)
    assert [one.name for one in found.environment_added] == ["SGLANG_C"]
    assert [one.name for one in found.environment_removed] == ["SGLANG_B"]
    assert [(one.variable.name, one.before, one.after) for one in found.environment_changed] == [("SGLANG_A", "1", "2")]
    effects = for_spec(found, (), {"SGLANG_B": "1"})
    assert [(one.kind, one.name) for one in effects] == [
        (EffectKind.ENVIRONMENT_GONE, "SGLANG_B"),
        (EffectKind.DEFAULT_CHANGED, "SGLANG_A"),
    ]
