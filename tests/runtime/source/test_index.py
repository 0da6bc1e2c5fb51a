"""The index: what stands where, made once and then only looked up."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ddtree_ops.runtime.source import extraction, making
from ddtree_ops.runtime.source.index import build
from ddtree_ops.runtime.source.model import SourceFile
from ddtree_ops.runtime.source.tree import open_tree

from .small_trees import ENGINE, LONG_AGO, is_warm, wheel, write

RUNNER = "sglang/srt/runner.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", ENGINE)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of files that were parsed."""
    found: list[str] = []

    def watched(contents, *others):  # type: ignore[no-untyped-def]
        found.extend(one.name for one in contents)
        return extraction.extract_all(contents, *others)

    monkeypatch.setattr(making, "extract_all", watched)
    return found


def test_names_and_facts(root: Path, tmp_path: Path) -> None:
    index = build(open_tree(root), cache=tmp_path / "cache")
    assert index.names("tp_size") == (RUNNER, "sglang/srt/server_args.py")
    assert index.names("no_such_name") == ()
    assert "width" in index.facts(RUNNER).names
    assert index.source(RUNNER).read() == ENGINE[RUNNER].encode()
    with pytest.raises(KeyError):
        index.facts("sglang/none.py")


def test_a_warm_start_reads_no_file(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build(open_tree(root), cache=tmp_path / "cache")
    monkeypatch.setattr(SourceFile, "read", lambda _: pytest.fail("a file was read"))
    tree = open_tree(root)
    assert is_warm(tree, tmp_path / "cache")
    after = build(tree, cache=tmp_path / "cache")
    assert after.names("tp_size") == before.names("tp_size")
    assert after.facts(RUNNER).dump() == before.facts(RUNNER).dump()
    assert set(after.every_name()) == set(before.every_name())


def test_only_what_has_changed_is_parsed(root: Path, tmp_path: Path, parsed: list[str]) -> None:
    build(open_tree(root), cache=tmp_path / "cache")
    parsed.clear()
    write(root, {RUNNER: "def run(other):\n    return other.page_size\n"})
    index = build(open_tree(root), cache=tmp_path / "cache")
    assert parsed == [RUNNER]
    assert index.names("page_size") == (RUNNER, "sglang/srt/server_args.py")
    assert index.names("width") == ()


def test_the_same_content_elsewhere_is_known(root: Path, tmp_path: Path, parsed: list[str]) -> None:
    build(open_tree(root), cache=tmp_path / "cache")
    parsed.clear()
    shutil.copytree(root, tmp_path / "copy")
    for tree in (open_tree(tmp_path / "copy"), open_tree(wheel(tmp_path / "x.whl", ENGINE))):
        index = build(tree, cache=tmp_path / "cache")
        assert index.names("width") == (RUNNER,)
        assert index.facts(RUNNER).name == RUNNER
    assert parsed == []


def test_a_file_of_the_same_size_and_time_is_told_by_its_inode(root: Path, tmp_path: Path) -> None:
    build(open_tree(root), cache=tmp_path / "cache")
    fresh = root / "fresh"
    fresh.write_text(ENGINE[RUNNER].replace("width", "depth"))
    os.utime(fresh, (LONG_AGO, LONG_AGO))
    fresh.replace(root / RUNNER)
    assert build(open_tree(root), cache=tmp_path / "cache").names("depth") == (RUNNER,)


def test_a_file_written_just_now_is_not_trusted_to_stay(root: Path, tmp_path: Path) -> None:
    (root / RUNNER).write_text(ENGINE[RUNNER])
    build(open_tree(root), cache=tmp_path / "cache")
    assert not is_warm(open_tree(root), tmp_path / "cache")


def test_files_that_cant_be_understood_are_told_each_time(root: Path, tmp_path: Path) -> None:
    write(root, {"sglang/broken.py": "def (:\n", "sglang/bad.py": "x = '\x00'\n", "sglang/deep.py": "x = " + "(" * 5000})
    for _ in range(2):
        index = build(open_tree(root), cache=tmp_path / "cache")
        assert [name for name, _ in index.unreadable] == ["sglang/bad.py", "sglang/broken.py", "sglang/deep.py"]
        assert index.names("tp_size")
    assert is_warm(open_tree(root), tmp_path / "cache")


def test_a_file_that_vanishes_is_told(root: Path, tmp_path: Path) -> None:
    tree = open_tree(root)
    (root / RUNNER).unlink()
    index = build(tree, cache=tmp_path / "cache")
    assert dict(index.unreadable)[RUNNER]
    assert index.facts(RUNNER).problem
    write(root, {RUNNER: ENGINE[RUNNER]})
    assert build(open_tree(root), cache=tmp_path / "cache").names("width") == (RUNNER,)


def test_names_with_any_byte(root: Path, tmp_path: Path) -> None:
    odd = os.fsdecode(os.fsencode(root) + b"/sglang/\xff.py")
    Path(odd).write_text("odd_one = 1\n")
    os.utime(odd, (LONG_AGO, LONG_AGO))
    for _ in range(2):
        assert build(open_tree(root), cache=tmp_path / "cache").names("odd_one") == ("sglang/\udcff.py",)
