"""Source trees in a wheel or an sdist, read member by member: nothing is unpacked to the disk."""

from __future__ import annotations

import io
import tarfile
import threading
import zipfile
import zlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path, PurePosixPath

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime.source import choosing
from ddtree_ops.runtime.source.model import MOST_BYTES, MOST_FILES, SourceFile, SourceTree, Stamp

MOST_UNPACKED = 512 << 20  # bytes of source in one archive; SGLang 0.5.23 has 40 MB
_MOST_MEMBERS = 20 * MOST_FILES
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error)


def read(path: Path) -> SourceTree:
    """The tree in an archive. Raises UsageError if it is none, or would unpack to more than is sound; OSError."""
    try:
        if zipfile.is_zipfile(path):
            return _wheel(path)
        if tarfile.is_tarfile(path):
            return _sdist(path)
    except _DAMAGED as error:
        raise UsageError(f"{path} is damaged: {error}", hint="fetch it again") from error
    raise UsageError(f"{path} is no wheel and no sdist", hint="give a .whl, a .tar.gz or a folder")


class _Wheel:
    """A zip file that stays open: to open it costs a look at all its members."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.file = zipfile.ZipFile(path)

    def member(self, name: str) -> bytes:
        """A member's content. Raises OSError if it is damaged."""
        try:
            with self._lock, self.file.open(name) as file:
                return file.read(MOST_BYTES)
        except _DAMAGED as error:
            raise OSError(f"{name} in {self._path} is damaged: {error}") from error


def _wheel(path: Path) -> SourceTree:
    stamp = _stamp(path)
    wheel = _Wheel(path)
    every = wheel.file.infolist()
    if len(every) > _MOST_MEMBERS:
        raise UsageError(f"{path} has {len(every)} members, more than {_MOST_MEMBERS}", hint="is it a wheel?")
    members = {one.filename: one for one in every if _is_plain(one.filename) and choosing.is_source(one.filename)}
    _bounded(path, (one.file_size for one in members.values()))
    files = (SourceFile(name, None, (*stamp, members[name].CRC), partial(wheel.member, name)) for name in sorted(members))
    known = dict(info for one in every if (info := choosing.of_metadata(one.filename.split("/")[0])))
    return SourceTree(str(path), known.get("sglang") or known.get("vllm"), tuple(files), _place(path))


def _sdist(path: Path) -> SourceTree:
    """Read in one go: a compressed tar has no way to a member but through all before it."""
    stamp = _stamp(path)
    contents: dict[str, bytes] = {}
    version = None
    with tarfile.open(path) as archive:
        total = 0
        for member in archive:
            total += member.size
            _bounded(path, (total,))
            name = _below_top(member.name)
            if not member.isreg() or not name or not _is_plain(name) or not choosing.is_source(name):
                continue
            file = archive.extractfile(member)
            contents[name] = file.read(MOST_BYTES) if file is not None else b""
            if name.count("/") == 1 and name.endswith(("/_version.py", "/version.py")):
                version = choosing.version_in(contents[name]) or version
    files = (SourceFile(name, None, stamp, io.BytesIO(content).getvalue) for name, content in sorted(contents.items()))
    return SourceTree(str(path), version, tuple(files), _place(path))


def _stamp(path: Path) -> Stamp:
    seen = path.stat()
    return (seen.st_size, seen.st_mtime_ns, seen.st_ino)


def _place(path: Path) -> str:
    return str(path.resolve())


def _below_top(name: str) -> str:
    """Without the folder that an sdist has around all, and SGLang's `python/`."""
    parts = PurePosixPath(name).parts[1:]
    return "/".join(parts[1:] if parts[:1] in (("python",), ("src",)) else parts)


def _is_plain(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return name.isprintable() and not name.startswith("/") and ".." not in parts and all(map(choosing.enters, parts[:-1]))


def _bounded(path: Path, sizes: Iterable[int]) -> None:
    total = sum(sizes)
    if total > MOST_UNPACKED:
        raise UsageError(f"{path} unpacks to more than {MOST_UNPACKED >> 20} MiB", hint="is it a bomb?")
