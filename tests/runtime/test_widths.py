"""Token widths read from source: what graphs are captured for, and what a verify pass sends."""

from __future__ import annotations

import time

import pytest

from ddtree_ops.runtime.source.model import SourceFile
from ddtree_ops.runtime.widths import Base, Provider, Widths, resolve
from tests.runtime.width_tree import file, tree


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
    begun = time.process_time()
    resolve((file("bad.py", content), file("x.dist-info/entry_points.txt", content), *tree("naive").files))
    assert time.process_time() - begun < 2


def test_a_file_that_can_not_be_read_is_left_out() -> None:
    def read() -> bytes:
        raise OSError("gone")

    assert resolve((SourceFile("x.py", None, (), read), *tree("naive").files)).provider is Provider.PLUGIN
