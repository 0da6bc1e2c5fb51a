"""Fetching released trees: what is whole is kept, what isn't the file in the list is refused."""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

import pytest

from . import versions


@pytest.fixture
def release(tmp_path: Path) -> versions.Release:
    """A wheel that is in the cache already, with its right hash."""
    wheel = tmp_path / "wheels" / "thing-1-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("thing/a.py", "x = 1\n")
        archive.writestr("thing/kernel.so", "binary")
        archive.writestr("thing-1.dist-info/METADATA", "Name: thing\nVersion: 1\n")
    return versions.Release("1", "thing==1", wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest())


def test_unpacks_sources_and_metadata(release: versions.Release, tmp_path: Path) -> None:
    tree = versions.fetch(release, tmp_path)
    found = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    assert found == {"thing/a.py", "thing-1.dist-info/METADATA", "RELEASE"}


def test_a_whole_tree_is_kept_and_a_torn_one_made_anew(release: versions.Release, tmp_path: Path) -> None:
    tree = versions.fetch(release, tmp_path)
    (tree / "mine").touch()
    assert (versions.fetch(release, tmp_path) / "mine").exists()
    (tree / "RELEASE").unlink()
    assert not (versions.fetch(release, tmp_path) / "mine").exists()


def test_another_file_is_refused_and_thrown_away(
    release: versions.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "wheels" / release.wheel
    wheel.write_bytes(wheel.read_bytes() + b"more")
    monkeypatch.setattr(versions, "_download", lambda _release, _into: None)  # what the network brought is this file
    with pytest.raises(versions.WrongFile, match=release.sha256):
        versions.fetch(release, tmp_path)
    assert not wheel.exists()
    assert not (tmp_path / release.label).exists()


def test_the_version_in_ci_is_the_locked_one() -> None:
    lock = (versions.REPOSITORY / "deploy" / "locks" / "sglang-0.5.13.post1-cu130.txt").read_text()
    (block,) = re.findall(r"^sglang==0\.5\.13\.post1 \\\n((?:.*\\\n)*.*)", lock, re.MULTILINE)
    assert versions.releases()[0].sha256 in block
