"""Source trees in folders: what lies there, under which names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime.source import choosing
from ddtree_ops.runtime.source.forms import find
from ddtree_ops.runtime.source.model import MOST_FILES, SourceFile, SourceTree

_DEEPEST = 40  # folders below one another
_MOST_ENTRIES = 20 * MOST_FILES
_TEXT = 1 << 20


def read(path: Path) -> SourceTree:
    """The tree in a folder. Raises OSError, and UsageError if there is far too much."""
    found = find(path.resolve())
    walk = _Walk()
    every = (file for base, packages in found for file in walk.files(base, packages))
    files = {file.name: file for file in islice(every, MOST_FILES + 1)}
    version = next((version for base, packages in found if (version := _version(base, packages))), None)
    return SourceTree(str(path), version, tuple(files[name] for name in sorted(files)), str(path.resolve()))


class _Walk:
    """Links aren't followed: they could lead out, or round in a circle."""

    def __init__(self) -> None:
        self._entries = 0

    def files(self, base: Path, packages: tuple[str, ...] | None) -> Iterator[SourceFile]:
        """The source files of packages, or of all that is there."""
        if packages is None:
            yield from self._below(base, "", 0)
            return
        for name in packages:
            single = base / f"{name}.py"
            if single.is_file():
                seen = single.stat()
                yield SourceFile(f"{name}.py", single, (seen.st_size, seen.st_mtime_ns, seen.st_ino))
            if (base / name).is_dir():
                yield from self._below(base / name, f"{name}/", 0)

    def _below(self, folder: Path, prefix: str, depth: int) -> Iterator[SourceFile]:
        if depth > _DEEPEST or prefix.startswith(choosing.LEFT_OUT):
            return
        for entry in _entries(folder):
            self._entries += 1
            if self._entries > _MOST_ENTRIES:
                raise UsageError(f"too much lies below {folder.anchor}", hint="name the folder that holds the packages")
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if choosing.enters(entry.name):
                    yield from self._below(folder / entry.name, f"{name}/", depth + 1)
            elif choosing.is_source(name) and entry.is_file(follow_symlinks=False):
                yield from _file(name, entry)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(islice(entries, _MOST_ENTRIES))
    except FileNotFoundError:  # gone since its name was read
        return []


def _file(name: str, entry: os.DirEntry[str]) -> Iterator[SourceFile]:
    try:
        seen = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    yield SourceFile(name, Path(entry.path), (seen.st_size, seen.st_mtime_ns, seen.st_ino))


def _version(base: Path, packages: tuple[str, ...] | None) -> str | None:
    served = [name.split("/")[0] for name in packages or choosing.SERVING]
    for package in ("sglang", "vllm"):
        if package not in served:
            continue
        for entry in sorted(base.glob(f"{package}-*.dist-info")):
            known = choosing.of_metadata(entry.name)
            if known and known[0] == package:
                return known[1]
        for name in ("_version.py", "version.py"):
            path = base / package / name
            if path.is_file() and (found := choosing.version_in(_head(path))):
                return found
    return None


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_TEXT)
