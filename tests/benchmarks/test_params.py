"""The benchmark of params measures what it says, and counts nothing that went wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.contestants import HERE, WrongWork
from benchmarks.params import Entry, listed, measure
from benchmarks.timing import timed
from tests.runtime.source.small_trees import ENGINE, write

pytestmark = pytest.mark.processes

CACHE = "import os, pathlib; p = pathlib.Path(os.environ['XDG_CACHE_HOME']) / 'x'; known = p.exists()\n"
KEEP = f"{CACHE}p.parent.mkdir(parents=True, exist_ok=True); p.touch(); print(known)"


def entry(what: str, code: str, *, cold: bool = False) -> Entry:
    return Entry(what, (sys.executable, "-S", "-c", code), cold)


def test_cold_is_cold_and_warm_is_warm(tmp_path: Path) -> None:
    code = KEEP + "; raise SystemExit(0 if known is {} else 1)"
    found = [entry("cold", code.format(False), cold=True), entry("first", KEEP), entry("warm", code.format(True))]
    rows = measure(found, 1, tmp_path)
    assert [row["what"] for row in rows] == ["cold", "first", "warm"]
    assert all(row["wall"]["n"] == 1 for row in rows)


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "pass"])
def test_a_command_that_fails_or_says_nothing_is_no_figure(tmp_path: Path, code: str) -> None:
    with pytest.raises(WrongWork):
        measure([entry("x", code)], 1, tmp_path)


def test_bare_parsing_gets_the_files_that_are_indexed(tmp_path: Path) -> None:
    tree = write(tmp_path / "tree", ENGINE)
    names = listed(tree, tmp_path).read_text().splitlines()
    assert len(names) == len([name for name in ENGINE if "/test/" not in name])
    assert all(Path(name).is_file() for name in names)
    done = timed((sys.executable, str(HERE / "parse_all.py"), str(tmp_path / "files.txt")))
    assert done.output == f"{len(names)} files\n"
