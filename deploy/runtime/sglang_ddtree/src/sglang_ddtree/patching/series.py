"""Apply a series of patches to a tree: all of it in memory first, then on disk, so that a conflict changes nothing.

A file is replaced by a new one, never written in place: the old one is a hard link into uv's cache, which every other
release shares.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from importlib.util import cache_from_source
from pathlib import Path

from .diffs import parse
from .lines import patched
from .model import BadPatch, Conflict, FilePatch
from .paths import place_in

FOLDER = "patches"
_MOST_TARGET_BYTES = 64 * 2**20
_TEMPORARY = ".ddtree-patch"


class Conflicts(Exception):
    """The series doesn't fit the tree. `lines` name every file and hunk, with what was expected and found."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        first = self.lines[0] if self.lines else ""
        more = sum(not line.startswith(" ") for line in self.lines) - 1
        super().__init__(f"a patch can't be applied: {first}" + (f" (and {more} more)" if more > 0 else ""))


def apply(tree: Path, folder: Path, patches: Iterable[Mapping[str, str]]) -> dict[str, dict[str, str | None]]:
    """Apply `{"name", "sha256"}` patches, the files `<number>-<name>` of a folder, to a tree.

    Returns sha256 before and after of every touched file, null where there is none. Raises Conflicts, OSError.
    """
    series = [one for number, patch in enumerate(patches, 1) for one in _read(folder / f"{number:02}-{patch['name']}", patch)]
    before: dict[str, bytes | None] = {}
    after: dict[str, bytes | None] = {}
    conflicts: list[Conflict] = []
    executable = {one.path for one in series if one.executable}
    for one in series:
        if one.path not in before:
            before[one.path] = after[one.path] = _content(tree, one)
        after[one.path], found = patched(after[one.path], one)
        conflicts += found
    if conflicts:
        raise Conflicts(line for conflict in conflicts for line in conflict.lines())
    for path, content in after.items():
        _write(place_in(tree, path), content, executable=path in executable)
    return {path: {"before": _sha256(before[path]), "after": _sha256(after[path])} for path in sorted(before)}


def _read(file: Path, patch: Mapping[str, str]) -> tuple[FilePatch, ...]:
    content = file.read_bytes()
    if _sha256(content) != patch["sha256"]:
        raise Conflicts([f"{patch['name']}: the file that arrived has another sha256 than the controller's"])
    try:
        return parse(patch["name"], content)
    except BadPatch as error:
        raise Conflicts([str(error)]) from error


def _content(tree: Path, patch: FilePatch) -> bytes | None:
    try:
        place = place_in(tree, patch.path)
        if place.stat().st_size > _MOST_TARGET_BYTES:
            raise Conflicts([f"{patch.patch}: {patch.path}: is larger than {_MOST_TARGET_BYTES} bytes"])
        return place.read_bytes()
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Conflicts([f"{patch.patch}: {error}"]) from error


def _write(place: Path, content: bytes | None, *, executable: bool) -> None:
    """Replace, make or remove one file, and forget what was compiled from it."""
    if place.suffix == ".py":
        Path(cache_from_source(str(place))).unlink(missing_ok=True)
    if content is None:
        return place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o755 if executable else 0o644
    temporary = place.with_name(f"{place.name}{_TEMPORARY}")
    with temporary.open("xb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
    temporary.replace(place)
    return None


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
