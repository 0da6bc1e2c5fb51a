"""A source tree: which Python files it has, under names that read as an import does (`sglang/srt/server_args.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Stamp = tuple[int | str, ...]
MOST_FILES = 60_000  # SGLang 0.5.23 has 4,000
MOST_BYTES = 8 << 20  # of a file: what is longer is cut, and too long to be parsed anyhow


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file: `name` relative to the tree's root with `/`, `path` on this machine unless it comes from elsewhere.

    `stamp` changes when the content does (size, time, inode; a checksum of an archive or a host); an empty one says nothing.
    `reader` gives the content of a file that has no path.
    """

    name: str
    path: Path | None = None
    stamp: Stamp = ()
    reader: Callable[[], bytes] | None = field(default=None, compare=False, repr=False)

    def read(self) -> bytes:
        """The content, up to MOST_BYTES. Raises OSError if the file is gone or can't be read."""
        if self.reader is not None:
            return self.reader()
        if self.path is None:
            raise FileNotFoundError(self.name)
        with self.path.open("rb") as file:
            return file.read(MOST_BYTES)


@dataclass(frozen=True, slots=True)
class SourceTree:
    """`root` as people gave it, `version` of the serving package (SGLang, or vLLM) or None, files sorted by name.

    `place`: what it is remembered by between runs, where that is another thing than `root`.
    """

    root: str
    version: str | None
    files: tuple[SourceFile, ...]
    place: str = ""
