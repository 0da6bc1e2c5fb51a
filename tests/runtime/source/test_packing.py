"""What came from hosts: kept by its hash, read only whole; a stream that lies is refused before it fills the memory."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from ddtree_ops.runtime.source.contents import Contents
from ddtree_ops.runtime.source.known import recall, remember, versions
from ddtree_ops.runtime.source.model import MOST_BYTES, SourceFile, SourceTree
from ddtree_ops.runtime.source.packing import DamagedStreamError, unpacked

from .small_trees import ENGINE, write


def packed(*contents: bytes) -> bytes:
    return zlib.compress(b"".join(len(one).to_bytes(4, "big") + one for one in contents))


def test_contents_come_out_as_they_went_in() -> None:
    stream = packed(b"one", b"", b"x" * 3_000_000)
    for size in (1, 1000, len(stream)):
        chunks = (stream[start : start + size] for start in range(0, len(stream), size))
        assert [len(one) for one in unpacked(chunks)] == [3, 0, 3_000_000]


@pytest.mark.parametrize(
    "stream",
    [
        packed(b"whole")[:-6],
        b"no zlib",
        b"",
        zlib.compress(b"\xff\xff\xff\xff"),
        zlib.compress((MOST_BYTES + 1).to_bytes(4, "big") + b"0" * 10_000),
        zlib.compress(b"\0\0\0\x09cut"),
    ],
)
def test_a_stream_that_lies_is_refused(stream: bytes) -> None:
    with pytest.raises(DamagedStreamError):
        list(unpacked([stream]))


def test_a_bomb_is_refused_early() -> None:
    bomb = zlib.compress((MOST_BYTES).to_bytes(4, "big") * 40_000_000, 1)
    with pytest.raises(DamagedStreamError):
        for _ in unpacked([bomb]):
            pass


def test_contents_are_kept_and_checked(tmp_path: Path) -> None:
    sha = Contents(tmp_path).keep(b"value = 1\n")
    again = Contents(tmp_path)
    assert again.has(sha)
    assert again.read(sha) == b"value = 1\n"
    (tmp_path / "contents" / sha[:2] / sha[2:]).write_bytes(zlib.compress(b"value = 2\n"))
    with pytest.raises(FileNotFoundError):
        again.read(sha)
    assert not Contents(tmp_path).has(sha)


def test_contents_that_cant_be_written_are_kept_in_memory() -> None:
    contents = Contents(Path("/proc/nowhere"))
    sha = contents.keep(b"x")
    assert contents.has(sha)
    assert contents.read(sha) == b"x"


@pytest.mark.parametrize("sha", ["../../../etc/passwd", "", "x" * 64, "/" * 64])
def test_a_host_names_no_file_here(tmp_path: Path, sha: str) -> None:
    assert not Contents(tmp_path).has(sha)
    with pytest.raises(FileNotFoundError):
        Contents(tmp_path).read(sha)


def test_a_version_is_remembered_by_its_place_or_its_contents(tmp_path: Path) -> None:
    from ddtree_ops.runtime.source.tree import open_tree

    cache, root = tmp_path / "cache", write(tmp_path / "tree", ENGINE)
    remember(open_tree(root), cache)
    sha = Contents(cache).keep(b"x = 1\n")
    remember(SourceTree("ct200:/opt", "0.5.99", (SourceFile("sglang/a.py", None, (sha,), lambda: b""),)), cache)
    assert versions(cache) == ("0.5.13.post1", "0.5.99")
    found, other = recall("0.5.13.post1", cache), recall("0.5.99", cache)
    assert found is not None
    assert found.root == str(root)
    assert other is not None
    assert other.files[0].read() == b"x = 1\n"
    (root / "sglang" / "_version.py").write_text("__version__ = '0.6'\n")
    (cache / "versions" / "0.5.99.json").write_text("[")
    assert (recall("0.5.13.post1", cache), recall("0.5.99", cache), recall("../x", cache)) == (None, None, None)
