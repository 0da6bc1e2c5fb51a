"""An index of a folder, in memory and without a cache: what the analysis needs of runtime.source.index.Index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ddtree_ops.runtime.extract import FileFacts, extract


@dataclass(frozen=True)
class MemoryFile:
    """A file of the tree."""

    name: str
    path: Path

    def read(self) -> bytes:
        """Its content."""
        return self.path.read_bytes()


@dataclass(frozen=True)
class MemoryTree:
    """The files below a folder."""

    root: str
    version: str | None
    files: tuple[MemoryFile, ...]


class MemoryIndex:
    """Facts go through their stored form, as they do in the real index; `loaded` are the files that were asked for."""

    def __init__(self, folder: Path) -> None:
        files = tuple(MemoryFile(path.relative_to(folder).as_posix(), path) for path in sorted(folder.rglob("*.py")))
        self.tree = MemoryTree(str(folder), None, files)
        self._facts = {file.name: FileFacts.load(extract(file.name, file.read()).dump()) for file in files}
        self.loaded: set[str] = set()
        self.unreadable: tuple[tuple[str, str], ...] = ()

    def names(self, name: str) -> tuple[str, ...]:
        """Files in which a name occurs."""
        return tuple(file for file, facts in self._facts.items() if name in facts.names)

    def every_name(self) -> Iterator[str]:
        """All names."""
        return (name for facts in self._facts.values() for name in facts.names)

    def facts(self, file: str) -> FileFacts:
        """A file's facts."""
        self.loaded.add(file)
        return self._facts[file]


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder with these files in it."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
