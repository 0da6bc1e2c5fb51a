"""The cache may be damaged, full, unwritable, shared or cut off: an answer comes all the same, and is right."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ddtree_ops.runtime.extract import EXTRACTOR_VERSION
from ddtree_ops.runtime.source import pruning, store
from ddtree_ops.runtime.source.index import build
from ddtree_ops.runtime.source.tree import open_tree

from .small_trees import ENGINE, is_warm, write

RUNNER = "sglang/srt/runner.py"
FILE = f"facts-{store.LAYOUT}-{EXTRACTOR_VERSION}.sqlite"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "tree", ENGINE)


def is_right(root: Path, cache: Path | None) -> bool:
    index = build(open_tree(root), cache=cache)
    return index.names("width") == (RUNNER,) and "width" in index.facts(RUNNER).names


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "rot", "folder"])
def test_a_damaged_cache_is_made_anew(root: Path, tmp_path: Path, damage: str) -> None:
    cache = tmp_path / "cache"
    assert is_right(root, cache)
    file = cache / FILE
    content = file.read_bytes()
    if damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        rotten = bytes(byte ^ 0x55 if place > 4096 and place % 7 == 0 else byte for place, byte in enumerate(content))
        file.write_bytes({"empty": b"", "text": b"hello" * 2000, "cut": content[: len(content) // 2], "rot": rotten}[damage])
    assert is_right(root, cache)
    assert is_right(root, cache)
    assert damage == "folder" or is_warm(open_tree(root), cache)


@pytest.mark.parametrize(
    "where", [("facts", "data"), ("postings", "files"), ("trees", "problems"), ("roots", "seen")], ids=lambda where: where[0]
)
def test_a_bit_that_turned_is_noticed(root: Path, tmp_path: Path, where: tuple[str, str]) -> None:
    cache = tmp_path / "cache"
    build(open_tree(root), cache=cache)
    table, column = where
    with sqlite3.connect(cache / FILE) as database:
        database.execute(f"UPDATE {table} SET {column} = substr({column}, 1, length({column}) - 1) || x'07'")  # noqa: S608
    database.close()
    assert is_right(root, cache)
    assert is_right(root, cache)


def test_a_store_lost_after_the_start_is_no_wrong_answer(root: Path, tmp_path: Path) -> None:
    """A name that isn't found would be told as one that the tree doesn't have."""
    cache = tmp_path / "cache"
    build(open_tree(root), cache=cache)
    index = build(open_tree(root), cache=cache)
    with sqlite3.connect(cache / FILE) as database:
        database.execute("DROP TABLE postings")
    database.close()
    assert index.names("width") == (RUNNER,)
    assert "width" in set(index.every_name())


@pytest.mark.parametrize("where", ["/proc/nothing/here", "/dev/null/x", "{file}/below"])
def test_where_nothing_can_be_kept_all_is_found_each_time(root: Path, tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("")
    assert is_right(root, Path(where.replace("{file}", str(tmp_path / "file"))))
    assert is_right(root, None)


def test_a_full_disk_keeps_nothing_and_hides_nothing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = store.Store._open

    def small(self: store.Store, path: Path, *, again: bool) -> None:
        original(self, path, again=again)
        assert self._database is not None
        self._database.execute("PRAGMA max_page_count = 9")  # SQLite says "database or disk is full", as for ENOSPC

    monkeypatch.setattr(store.Store, "_open", small)
    write(root, {f"sglang/more{number}.py": f"name_{number} = {'x' * 3000!r}\n" for number in range(20)})
    for _ in range(2):
        index = build(open_tree(root), cache=tmp_path / "cache")
        assert index.names("name_7") == ("sglang/more7.py",)
        assert "width" in index.facts(RUNNER).names


def test_another_process_holds_the_file(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    assert is_right(root, cache)
    write(root, {"sglang/new.py": "new_name = 1\n"})
    monkeypatch.setattr(store, "_PATIENCE", 0.05)
    holder = sqlite3.connect(cache / FILE, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert is_right(root, cache)
    finally:
        holder.close()
    assert is_right(root, cache)
    assert is_warm(open_tree(root), cache)


WRITER = """
import sys
from pathlib import Path
from ddtree_ops.runtime.source.index import build
from ddtree_ops.runtime.source.tree import open_tree
while True:
    build(open_tree(Path(sys.argv[1])), cache=Path(sys.argv[2]))
    print("built", flush=True)
    (Path(sys.argv[1]) / "sglang" / "srt" / "turn.py").write_text(f"turn = {id(object())}\\n")
"""


@pytest.mark.processes
def test_killed_in_the_middle_of_writing_and_two_at_once(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    write(root, {f"sglang/more{number}.py": f"name_{number} = 1\n" * 200 for number in range(40)})
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(cache)], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"built\n"
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    assert [writer.returncode for writer in writers] == [-signal.SIGKILL] * 2
    assert is_right(root, cache)
    with sqlite3.connect(cache / FILE) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


def test_trees_used_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "MOST_BYTES", 1)
    monkeypatch.setattr(pruning, "KEPT_TREES", 2)
    monkeypatch.setattr(pruning, "KEPT_ROOTS", 3)
    cache = tmp_path / "cache"
    roots = [write(tmp_path / f"tree{number}", {"sglang/a.py": f"name_{number} = 1\n"}) for number in range(4)]
    for root in roots:
        build(open_tree(root), cache=cache)
    assert [is_warm(open_tree(root), cache) for root in roots] == [False, False, True, True]
    with sqlite3.connect(cache / FILE) as database:
        assert database.execute("SELECT count(*) FROM facts").fetchone() == (2,)
        assert database.execute("SELECT count(*) FROM roots").fetchone() == (3,)
    database.close()


def test_files_of_other_versions_go_when_nobody_uses_them(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for name, age in (("facts-1-1.sqlite", 30), ("facts-1-2.sqlite", 1)):
        (cache / name).write_text("")
        os.utime(cache / name, (time.time() - age * 86_400,) * 2)
    build(open_tree(root), cache=cache)
    assert sorted(path.name for path in cache.iterdir()) == sorted(["facts-1-2.sqlite", FILE])
