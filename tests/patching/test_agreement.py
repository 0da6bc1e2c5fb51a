"""Random edits, made into diffs by diff(1) and git: what we apply, patch(1) and git apply give byte for byte; and of trees
that were edited since, we accept nothing that they refuse."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sglang_ddtree.patching import diffs, lines

pytestmark = pytest.mark.processes

Tree = dict[str, bytes]
LIMITS = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
NAMES = ("engine/core.py", "engine/sub/deep.py", "notes with spaces.txt", "sglang/new.py")

# Few different lines, so that hunks could also be taken for others; CRLF, no newline at the end, empty lines.
text_line = st.sampled_from(
    [b"a\n", b"b\n", b"\n", b"x = 1\n", b"x = 1\r\n", b"\r\n", b"- c\n", b"+ d\n", b"-- e\n", b"@@ f\n", b"\tg\n", b" h\n"]
)
content = st.builds(
    lambda parts, end: b"".join(parts) + end, st.lists(text_line, max_size=40), st.sampled_from([b"", b"", b"last"])
)


@st.composite
def edits(draw: st.DrawFn, before: bytes) -> bytes:
    """The content with a few lines replaced, put in or taken out."""
    parts = lines.split_lines(before)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(parts)))
        parts[at : at + draw(st.integers(0, 2))] = draw(st.lists(text_line, max_size=3))
    joined = [part if part.endswith(b"\n") or number == len(parts) - 1 else part + b"\n" for number, part in enumerate(parts)]
    return b"".join(joined)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """A tree before and after: files edited, made, removed, left alone."""
    before: Tree = {}
    after: Tree = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        old = draw(content)
        kind = draw(st.sampled_from(["edit", "edit", "edit", "make", "remove", "same"]))
        if kind != "make":
            before[name] = old
        if kind != "remove":
            after[name] = draw(edits(old)) if kind == "edit" else old
    return before, after


def write_tree(folder: Path, tree: Mapping[str, bytes]) -> None:
    for name, data in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def read_tree(folder: Path) -> Tree:
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if not name.endswith((".orig", ".rej"))}


def git_diff(root: Path) -> bytes:
    argv = ("git", "diff", "--no-index", "--no-renames", "--no-color", "--no-prefix", "a", "b")
    diff = subprocess.run(argv, cwd=root, capture_output=True, check=False)
    assert diff.returncode in (0, 1), diff.stderr
    return diff.stdout


def plain_diff(root: Path) -> bytes:
    diff = subprocess.run(("diff", "-urN", "--text", "a", "b"), cwd=root, capture_output=True, check=False)
    assert diff.returncode in (0, 1), diff.stderr
    return diff.stdout


def filled(tree: Tree) -> Tree:
    return {name: data for name, data in tree.items() if data}


def ours(tree: Tree, diff: bytes) -> Tree | None:
    """What our code makes of the tree; None for conflicts."""
    result: dict[str, bytes | None] = dict(tree)
    found = []
    for one in diffs.parse("p.diff", diff):
        result[one.path], conflicts = lines.patched(result.get(one.path), one)
        found += conflicts
    return None if found else {name: data for name, data in result.items() if data is not None}


def theirs(tree: Tree, diff: bytes, *argv: str) -> Tree | None:
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder), tree)
        done = subprocess.run(argv, cwd=folder, input=diff, capture_output=True, check=False, timeout=60)
        return None if done.returncode else read_tree(Path(folder))


def patch_program(tree: Tree, diff: bytes) -> Tree | None:
    return theirs(tree, diff, "patch", "--binary", "-s", "-p1", "--fuzz=0", "-f", "--no-backup-if-mismatch", "-r", "-")


def git_apply(tree: Tree, diff: bytes) -> Tree | None:
    return theirs(tree, diff, "git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-p1", "-")


@pytest.mark.parametrize("make", [git_diff, plain_diff])
@LIMITS
@given(trees=pairs())
def test_a_diff_gives_the_other_tree_and_what_the_real_programs_give(make: object, trees: tuple[Tree, Tree]) -> None:
    before, after = trees
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for side, tree in (("a", before), ("b", after)):
            (root / side).mkdir()
            write_tree(root / side, tree)
        diff = make(root)  # type: ignore[operator]
    if not diff:
        return
    mine = ours(before, diff)
    if make is git_diff:
        assert mine == after
        assert git_apply(before, diff) == after
    else:  # a plain diff says nothing of empty files that are made
        assert mine is not None
        assert filled(mine) == filled(after)
        assert filled(patch_program(before, diff) or {}) == filled(after)


@LIMITS
@given(trees=pairs(), data=st.data())
def test_of_a_tree_that_has_changed_we_accept_nothing_that_git_refuses(trees: tuple[Tree, Tree], data: st.DataObject) -> None:
    before, after = trees
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for side, tree in (("a", before), ("b", after)):
            (root / side).mkdir()
            write_tree(root / side, tree)
        diff = git_diff(root)
    if not diff:
        return
    drifted = {name: data.draw(edits(content)) for name, content in before.items()}
    mine = ours(drifted, diff)
    if mine is not None:
        assert git_apply(drifted, diff) == mine
