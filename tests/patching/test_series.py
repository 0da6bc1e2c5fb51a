"""A series on disk: hard links, links that lead out, patches that build on each other, and input made to hurt."""

from __future__ import annotations

import errno
import hashlib
import os
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from sglang_ddtree.patching import diffs, lines, series
from sglang_ddtree.patching.model import BadPatch
from tests.hang import ends

EDIT = "--- a/engine/core.py\n+++ b/engine/core.py\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "engine").mkdir(parents=True)
    (folder / "engine" / "core.py").write_text("one\ntwo\n")
    return folder


def apply(site: Path, *patches: str) -> dict[str, dict[str, str | None]]:
    folder = site.parent / "patches"
    folder.mkdir(exist_ok=True)
    named = []
    for number, text in enumerate(patches, 1):
        (folder / f"{number:02}-p{number}").write_text(text)
        named.append({"name": f"p{number}", "sha256": hashlib.sha256(text.encode()).hexdigest()})
    return series.apply(site, folder, named)


def test_what_shares_the_file_keeps_its_content_and_the_mode_stays(site: Path, tmp_path: Path) -> None:
    target = site / "engine" / "core.py"
    target.chmod(0o640)
    os.link(target, tmp_path / "cache.py")
    apply(site, EDIT)
    assert target.read_text() == "one\nTWO\n"
    assert (tmp_path / "cache.py").read_text() == "one\ntwo\n"
    assert target.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in (site / "engine").iterdir()] == ["core.py"]


def test_compiled_code_of_a_patched_file_goes(site: Path) -> None:
    compiled = Path(cache_from_source(str(site / "engine" / "core.py")))
    compiled.parent.mkdir()
    compiled.write_bytes(b"old")
    apply(site, EDIT)
    assert not compiled.exists()


def test_a_later_patch_builds_on_an_earlier_one(site: Path) -> None:
    touched = apply(site, EDIT, EDIT.replace("-two\n+TWO", "-TWO\n+three"))
    assert (site / "engine" / "core.py").read_text() == "one\nthree\n"
    assert touched == {
        "engine/core.py": {
            "before": hashlib.sha256(b"one\ntwo\n").hexdigest(),
            "after": hashlib.sha256(b"one\nthree\n").hexdigest(),
        }
    }


def test_one_conflict_of_a_series_and_nothing_is_written(site: Path) -> None:
    with pytest.raises(series.Conflicts, match=r"p2: engine/core\.py hunk 1"):
        apply(site, EDIT, EDIT)
    assert (site / "engine" / "core.py").read_text() == "one\ntwo\n"


def test_a_link_in_the_tree_is_not_followed(site: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "core.py").write_text("one\ntwo\n")
    (site / "away").symlink_to(outside)
    (site / "file.py").symlink_to(outside / "core.py")
    for name in ("away/core.py", "file.py"):
        with pytest.raises(series.Conflicts, match="of the tree"):
            apply(site, EDIT.replace("engine/core.py", name))
    assert (outside / "core.py").read_text() == "one\ntwo\n"


def test_a_file_where_a_directory_should_be(site: Path) -> None:
    with pytest.raises(series.Conflicts, match=r"engine/core\.py is no directory"):
        apply(site, "--- /dev/null\n+++ b/engine/core.py/x.py\n@@ -0,0 +1 @@\n+x\n")


def test_another_file_than_the_controller_sent(site: Path) -> None:
    folder = site.parent / "patches"
    folder.mkdir()
    (folder / "01-p").write_text(EDIT)
    with pytest.raises(series.Conflicts, match="another sha256"):
        series.apply(site, folder, [{"name": "p", "sha256": "0" * 64}])


HOSTILE = {
    "one_long_line": b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-" + b"a" * 2**20 + b"\n+b\n",
    "a_long_header": b"--- a/x\n+++ b/x\n@@ -" + b"1" * 2**20 + b" +1 @@\n",
    "a_long_name": b"--- " + b"a/" * 2**19 + b"\n+++ " + b"a/" * 2**19 + b"\n@@ -1 +1 @@\n-x\n+y\n",
    "a_huge_count": b"--- a/x\n+++ b/x\n@@ -1,999999999 +1,999999999 @@\n x\n",
    "many_files": b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n" * 3000,
    "a_million_lines_of_nothing": b"\n" * 2**20,
    "null_bytes": b"--- a/x\0\n+++ b/x\0\n@@ -1 +1 @@\n-x\n+y\n",
    "an_escape_sequence_in_a_name": b"--- a/\x1b[31m\n+++ b/\x1b[31m\n@@ -1 +1 @@\n-x\n+y\n",
    "too_large": b"x" * (diffs.MOST_BYTES + 1),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_patches_are_refused_or_read_soon_and_said_in_a_printable_line(content: bytes) -> None:
    with ends():
        try:
            for one in diffs.parse("p", content):
                for conflict in lines.patched(b"a\n" * 100_000, one)[1]:
                    assert all(line.isprintable() and len(line) < 500 for line in conflict.lines())
        except BadPatch as error:
            assert str(error).isprintable()
            assert len(str(error)) < 2500


def test_looking_for_moved_lines_stays_bounded() -> None:
    (patch,) = diffs.parse("p", b"--- a/x\n+++ b/x\n@@ -1,5001 +1,5000 @@\n" + b" a\n" * 5000 + b"-b\n")
    with ends():
        assert lines.patched(b"a\n" * 200_000, patch)[1]


SMALL = "".join(f"@@ -{at},2 +{at},2 @@\n a\n-b\n+c\n" for at in range(1, 60_000, 3))
MANY = {
    "one_hunk_of_400,000_lines": ("@@ -1,400001 +1,400000 @@\n" + " a\n" * 400_000 + "-b\n", b"a\n" * 500_000, 1),
    "20,000_hunks": (SMALL, b"a\n" * 60_000, 20_000),
    "20,000_hunks_behind_the_end": (SMALL, b"x\n" * 10, 20_000),
}


@pytest.mark.parametrize(("hunks", "content", "conflicts"), MANY.values(), ids=MANY)
def test_the_search_has_one_allowance_for_all_hunks(hunks: str, content: bytes, conflicts: int) -> None:
    (patch,) = diffs.parse("p", b"--- a/x\n+++ b/x\n" + hunks.encode())
    with ends():
        assert len(lines.patched(content, patch)[1]) == conflicts


def test_not_every_one_of_countless_conflicts_is_listed(site: Path) -> None:
    with pytest.raises(series.Conflicts) as caught:
        apply(site, "--- a/engine/core.py\n+++ b/engine/core.py\n" + SMALL)
    assert len(caught.value.lines) < 400
    assert caught.value.lines[-1] == "and 19900 more conflicts"


def test_a_file_of_which_a_patch_speaks_without_end(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "_MOST_WORK_BYTES", 15)
    with pytest.raises(series.Conflicts, match=r"p2:1: engine/core\.py: up to here more than 15 bytes"):
        apply(site, EDIT, EDIT.replace("-two\n+TWO", "-TWO\n+two"))


def test_a_patch_that_is_no_regular_file_does_not_block(site: Path) -> None:
    folder = site.parent / "patches"
    folder.mkdir()
    os.mkfifo(folder / "01-p")
    with pytest.raises(series.Conflicts, match="p: is no regular file"):
        series.apply(site, folder, [{"name": "p", "sha256": "0" * 64}])


def test_a_disk_that_fills_up_leaves_the_tree_as_it_was(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fchmod, calls = os.fchmod, []

    def full(descriptor: int, mode: int) -> None:
        calls.append(mode)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        fchmod(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(OSError, match="No space"):
        apply(site, EDIT, "--- /dev/null\n+++ b/q/r.py\n@@ -0,0 +1 @@\n+x\n")
    assert [path.name for path in site.rglob("*")] == ["engine", "core.py"]
    assert (site / "engine" / "core.py").read_text() == "one\ntwo\n"
