"""The lists of entry points of a release's own wheels: which package a name in SGLANG_PLUGINS stands for."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from ddtree_ops.fleet.release import Release

_LIST = ".dist-info/entry_points.txt"
_MOST_BYTES = 64 << 10


@dataclass(frozen=True)
class EntryPoints:
    """An entry_points.txt, as a file of a source tree."""

    name: str
    content: bytes

    def read(self) -> bytes:
        """The content."""
        return self.content


def entry_points(release: Release) -> Iterator[EntryPoints]:
    """The lists of the wheels on this machine; wheels that can't be read have none."""
    for wheel in release.inputs.wheels:
        try:
            with zipfile.ZipFile(wheel.path) as archive:
                for one in archive.infolist():
                    if one.filename.endswith(_LIST) and one.file_size <= _MOST_BYTES:
                        yield EntryPoints(one.filename, archive.read(one))
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, zipfile.LargeZipFile):
            continue
