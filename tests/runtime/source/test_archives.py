"""Wheels and sdists are read in place; what is damaged, or would fill the memory, is refused in one line."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime.source import archives
from ddtree_ops.runtime.source.model import MOST_BYTES
from ddtree_ops.runtime.source.tree import open_tree

from .small_trees import ENGINE, wheel

INSIDE = {**ENGINE, "sglang-0.5.13.post1.dist-info/METADATA": "Name: sglang\n", "../escape.py": "x = 1\n", "/abs.py": ""}
OURS = sorted(name for name in ENGINE if "/test/" not in name)


def test_a_wheel_is_a_tree(tmp_path: Path) -> None:
    tree = open_tree(wheel(tmp_path / "sglang.whl", INSIDE))
    assert [file.name for file in tree.files] == OURS
    assert tree.version == "0.5.13.post1"
    assert {file.name: file.read().decode() for file in tree.files} == {name: ENGINE[name] for name in OURS}


def test_an_sdist_is_a_tree(tmp_path: Path) -> None:
    path = tmp_path / "sglang-0.5.13.post1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in ENGINE.items():
            member = tarfile.TarInfo(f"sglang-0.5.13.post1/python/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    tree = open_tree(path)
    assert [file.name for file in tree.files] == OURS
    assert tree.version == "0.5.13.post1"
    assert tree.files[-1].read() == ENGINE[OURS[-1]].encode()


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_UNPACKED", 1 << 20)
    path = wheel(tmp_path / "bomb.whl", {f"sglang/x{number}.py": "#" * 300_000 for number in range(4)})
    with pytest.raises(UsageError, match="unpacks to more than"):
        open_tree(path)


def test_a_member_longer_than_any_source_is_cut(tmp_path: Path) -> None:
    path = wheel(tmp_path / "long.whl", {"sglang/long.py": "#" * (MOST_BYTES + 100)})
    assert len(open_tree(path).files[0].read()) == MOST_BYTES


def test_a_cut_wheel_is_damaged(tmp_path: Path) -> None:
    path = wheel(tmp_path / "cut.whl", INSIDE)
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    with pytest.raises(UsageError, match=r"cut\.whl"):
        open_tree(path)


def test_a_damaged_member_is_a_file_that_cant_be_read(tmp_path: Path) -> None:
    path = tmp_path / "rot.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("sglang/a.py", "value = 1\n")
    path.write_bytes(path.read_bytes().replace(b"value = 1", b"value = 2"))
    with pytest.raises(OSError, match="damaged"):
        open_tree(path).files[0].read()
