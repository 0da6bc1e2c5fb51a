"""Token widths read from source: what graphs are captured for, and what a verify pass sends."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

import pytest

from ddtree_ops.runtime.source.model import SourceFile
from ddtree_ops.runtime.widths import Base, Provider, Widths, resolve
from tests.hang import ends
from tests.runtime.width_tree import file, tree


@pytest.fixture(autouse=True, scope="module")
def _each_file_parsed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ast, "parse", functools.cache(ast.parse))
        yield


def bases(widths: Widths, which: str) -> set[tuple[str, int | None]]:
    """Terms that aren't plain numbers, but for a graph or verify pass of nothing else."""
    terms = getattr(widths, which)
    found = {(str(term.base), term.offset) for term in terms if term.base is not Base.NUMBER}
    return found or {(str(term.base), term.offset) for term in terms}


@pytest.mark.parametrize(
    ("names", "provider", "graph", "verify"),
    [
        (("naive",), "plugin", {("num_draft_tokens", 0)}, {("number", 33)}),
        (("naive", "plain"), "plugin", {("num_draft_tokens", 0)}, {("number", 33)}),
        (("fixed",), "plugin", {("number", 33)}, {("number", 33)}),
        (("off_by_one",), "plugin", {("budget", 0), ("num_draft_tokens", 0)}, {("budget", 1)}),
        (("late",), "plugin", {("num_draft_tokens", 0)}, {("budget", 1)}),
        (("hooked",), "plugin", set(), {("budget", 1)}),
        (("patched",), "sglang", {("block_size", 0)}, {("budget", 1)}),
        (("plain",), "nobody", set(), set()),
        ((), "unknown", set(), set()),
    ],
)
def test_widths_of_small_runtimes(names: tuple[str, ...], provider: str, graph: set[object], verify: set[object]) -> None:
    found = resolve(tree(*names).files)
    assert (found.provider, bases(found, "graph"), bases(found, "verify")) == (provider, graph, verify)


@pytest.mark.parametrize("names", [("ours",), ("ours", "plain"), ("ours", "simulator"), ("simulator",), ("overridden",)])
def test_the_budget_reaches_the_graph_of_sound_runtimes(names: tuple[str, ...]) -> None:
    found = resolve(tree(*names).files)
    assert ("budget", 1) in bases(found, "graph")
    assert not found.gave_up


def test_a_sound_runtime_whose_line_is_changed_loses_the_budget() -> None:
    changes = {"sglang/srt/speculative/spec_info.py": ("return ddtree_budget(server_args, batch_size) + 1", "return 8")}
    found = resolve(tree("simulator", changes=changes).files)
    assert Base.BUDGET not in {term.base for term in found.graph}
    assert Base.BLOCK in {term.base for term in found.graph}


def test_a_changed_completion_of_a_newer_sglang_loses_the_budget() -> None:
    line = "cfg.speculative_ddtree_budget + 1)"
    changes = {"sglang/srt/arg_groups/speculative_hook.py": (line, "cfg.speculative_dflash_block_size)")}
    found = resolve(tree("overridden", changes=changes).files)
    assert bases(found, "graph") == {("block_size", 0)}


def test_our_plugin_without_its_completion_loses_the_budget() -> None:
    line = "server_args.speculative_num_draft_tokens = table.verify_width"
    changes = {"sglang_ddtree/runtime/arguments.py": (line, "server_args.speculative_num_draft_tokens = table.block_size")}
    found = resolve(tree("ours", changes=changes).files)
    assert ("budget", 1) in bases(resolve(tree("ours").files), "graph")
    # By names alone, `block_size` of the table may come from anything that is read from the environment; its width may not be +1.
    assert ("budget", 1) not in bases(found, "graph")


def test_the_graph_width_is_named_by_its_line() -> None:
    place = resolve(tree("naive", "plain").files).graph_place
    assert place is not None
    assert (place.file, place.code) == ("sglang/srt/speculative/spec_registry.py", "return num_draft_tokens")


def test_an_algorithm_that_two_plugins_register_has_two_places() -> None:
    found = resolve(tree("ours", "naive").files)
    assert {place.file for place in found.registered} == {"sglang_ddtree/runtime/algorithm.py", "naive_ddtree.py"}


def test_a_plugin_beside_a_sglang_that_has_the_algorithm_is_one_too_many() -> None:
    found = resolve((*tree("patched", "naive").files, file("sglang/srt/plugins/__init__.py", b"")))
    assert len(found.registered) == 2


PLUGIN = "forms_ddtree/plugin.py"
CLASS = "class Algorithm(CustomSpecAlgo):\n    def is_dflash(self):\n        return True\n"
BODY = "    speculative_hook._handle_dflash(server_args)\n"
REGISTER = 'SpeculativeAlgorithm.register("DDTREE", validate_server_args=validate, spec_class=Algorithm)'
ANSWER = "get_num_tokens_per_bs_for_target_verify"
LAMBDA = f"{ANSWER} = lambda self, n, draft: n if draft else 33"
MIXED = f"from other.wide import Wide\n\n\nclass Algorithm(Wide, CustomSpecAlgo):\n{CLASS.partition(chr(10))[2]}"


def of_form(before: str, after: str, *more: str) -> Widths:
    return resolve(tree("forms", "plain", *more, changes={PLUGIN: (before, after)}).files)


def test_a_form_that_is_understood_gives_the_draft_tokens() -> None:
    assert bases(of_form(BODY, BODY), "graph") == {("num_draft_tokens", 0)}
    ours = CLASS + f"\n    def {ANSWER}(self, num_draft_tokens, draft):\n        return num_draft_tokens\n"
    assert bases(of_form(CLASS, ours), "graph") == {("num_draft_tokens", 0)}
    assert bases(of_form(BODY, f'{BODY}    logging.info("%s", server_args)\n    import logging\n'), "graph") == {
        ("num_draft_tokens", 0)
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(CLASS, f"{CLASS}\n    def {ANSWER}(self, n, d):\n        return A.block_size if d else 33\n", id="who asks"),
        pytest.param(CLASS, f"{CLASS}\n    {LAMBDA}\n", id="lambda"),
        pytest.param("def load():\n", f"def load():\n    Algorithm.{LAMBDA}\n", id="set"),
        pytest.param("def load():\n", f'def load():\n    setattr(Algorithm, "{ANSWER}", answer)\n', id="setattr"),
        pytest.param("def load():\n", "def load():\n    from other import wide\n    wide.widen(Algorithm)\n", id="given"),
        pytest.param(CLASS, MIXED, id="mixin"),
        pytest.param(CLASS, f"import other\n\n\n@other.widened\n{CLASS}", id="decorator"),
        pytest.param("(CustomSpecAlgo):", "(Base):\n    from .base import Base\n", id="base in another file"),
        pytest.param(BODY, f"{BODY}    from other.wide import complete\n    complete(server_args)\n", id="another's function"),
        pytest.param(BODY, f'{BODY}    vars(server_args).update({{"speculative_num_draft_tokens": 33}})\n', id="vars"),
        pytest.param(BODY, f"{BODY}    server_args.__dict__.update(WIDTHS)\n", id="__dict__"),
        pytest.param(BODY, f"{BODY}    for k, x in WIDTHS:\n        setattr(server_args, k, x)\n", id="loop"),
        pytest.param("spec_class=Algorithm", "spec_class=type('A', (Algorithm,), {})", id="made class"),
        pytest.param("spec_class=Algorithm", "**more", id="words"),
        pytest.param(
            REGISTER, f"import other\n    {REGISTER.replace('=validate', '=other.validate')}", id="another's validation"
        ),
        pytest.param('"DDTREE"', '"DD" + "TREE"', id="name"),
        pytest.param("SpeculativeAlgorithm.register(", "getattr(SpeculativeAlgorithm, 'register')(", id="getattr"),
        pytest.param(REGISTER, f"put = SpeculativeAlgorithm.register\n    put{REGISTER.partition('register')[2]}", id="alias"),
    ],
)
def test_a_form_that_is_not_understood_leaves_the_width_unknown(before: str, after: str) -> None:
    found = of_form(before, after)
    assert (found.provider, found.graph, len(found.registered)) == (Provider.PLUGIN, (), 1)


@pytest.mark.parametrize("name", ['name="ddtree", ', '"ddtree", ', "name=NAME, "])
def test_a_name_is_read_in_any_case_and_as_a_word(name: str) -> None:
    found = of_form('"DDTREE", ', name, *(["ours"] if name.startswith('"') else []))
    files = tree("forms", "plain", changes={PLUGIN: ('"DDTREE", ', name)}).files
    named = (*files, file("forms_ddtree/names.py", b'NAME = "DDTree"'))
    assert resolve(named).provider is Provider.PLUGIN
    assert bases(resolve(named), "graph") == {("num_draft_tokens", 0)}
    assert not name.startswith('"') or len(found.registered) == 2


def test_another_name_is_no_registration() -> None:
    assert of_form('"DDTREE"', '"OTHER"').provider is Provider.NOBODY


def test_beside_ours_an_unreadable_name_is_judged_too() -> None:
    found = of_form('"DDTREE"', '"DD" + "TREE"', "ours")
    assert len(found.registered) == 1
    assert [bool(one.graph) for one in found.each] == [True, False]


def test_what_a_lambda_adds_is_unknown() -> None:
    line = "draft_token_num=args.speculative_ddtree_budget + 1"
    found = of_form(line, "draft_token_num=(width := lambda b: b + 1) and width(args.speculative_ddtree_budget)")
    assert ("budget", 0) not in bases(found, "verify")
    assert ("budget", None) in bases(found, "verify")


def points(*lines: str) -> SourceFile:
    return file("some.dist-info/entry_points.txt", "\n".join(("[sglang.srt.plugins]", *lines)).encode())


def test_the_variable_chooses_among_plugins() -> None:
    files = (*tree("ours", "naive").files, points("ddtree = sglang_ddtree.runtime.plugin:load", "Naive = naive_ddtree:load"))
    assert [place.file for place in resolve(files, plugins="Naive").registered] == ["naive_ddtree.py"]
    assert Base.BUDGET in {term.base for term in resolve(files, plugins="ddtree, x").graph}
    assert resolve(tree("ours", "naive").files, plugins="Naive").provider is Provider.UNKNOWN


@pytest.mark.parametrize(
    "content",
    [
        b"\0\0\0",
        b"\xff\xfe bad",
        b"x = " + b"(" * 5000,
        b"x = " + b"-" * 100_000 + b"1",
        b"x = " + b"1 + " * 50_000 + b"1",
        b"register('DDTREE', spec_class=Loop)\nclass Loop(Loop): pass",
        b"def f(a): return f(a)\nregister('DDTREE', validate_server_args=f)\nv = V(draft_token_num=f(1))",
        b"x = 1\n" * 200_000,
        b"[sglang",
    ],
    ids=[
        "null",
        "not utf-8",
        "parentheses",
        "signs",
        "long sum",
        "loop of classes",
        "loop of functions",
        "200,000 lines",
        "no python",
    ],
)
def test_hostile_files_do_no_harm(content: bytes) -> None:
    with ends():
        resolve((file("bad.py", content), file("x.dist-info/entry_points.txt", content), *tree("naive").files))


def test_a_file_that_can_not_be_read_is_left_out() -> None:
    def read() -> bytes:
        raise OSError("gone")

    assert resolve((SourceFile("x.py", None, (), read), *tree("naive").files)).provider is Provider.PLUGIN
