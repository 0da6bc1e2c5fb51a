"""Apply a series of patches to a tree: all of it in memory first, then on disk, so that a conflict changes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from .diffs import MOST_BYTES, parse
from .lines import Search, patched
from .model import BadPatch, Conflict, FilePatch
from .tree import exchange, one_below_another, place_in, read_file

FOLDER = "patches"
_MOST_TARGET_BYTES = 64 * 2**20
# What all sections of a series go through together: a file of which a patch speaks a thousand times counts as often.
_MOST_WORK_BYTES = 2**30
_MOST_CONFLICTS = 100


class Conflicts(Exception):
    """The series doesn't fit the tree. `lines` name every file and hunk, with what was expected and found."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        first = self.lines[0] if self.lines else ""
        more = sum(not line.startswith(" ") for line in self.lines) - 1
        super().__init__(f"a patch can't be applied: {first}" + (f" (and {more} more)" if more > 0 else ""))


def apply(tree: Path, folder: Path, patches: Iterable[Mapping[str, str]]) -> dict[str, dict[str, str | None]]:
    """Apply `{"name", "sha256"}` patches, the files `<number>-<name>` of a folder, to a tree.

    Returns sha256 before and after of every touched file, null where there is none. Raises Conflicts, and OSError if the disk
    fails or is full.
    """
    series = [one for number, patch in enumerate(patches, 1) for one in _read(folder / f"{number:02}-{patch['name']}", patch)]
    before, after = _patched(tree, series)
    clash = one_below_another(after)
    if clash:
        last = next(one for one in reversed(series) if one.path in clash)
        raise Conflicts([f"{last.patch}:{last.line}: {clash[0]} would be a file, and the directory of {clash[1]}"])
    try:
        exchange(tree, after, {one.path for one in series if one.executable})
    except ValueError as error:
        raise Conflicts([str(error)]) from error
    return {path: {"before": _sha256(before[path]), "after": _sha256(after[path])} for path in sorted(before)}


def _patched(tree: Path, series: Sequence[FilePatch]) -> tuple[dict[str, bytes | None], dict[str, bytes | None]]:
    """Every touched file before and after. Raises Conflicts."""
    before: dict[str, bytes | None] = {}
    after: dict[str, bytes | None] = {}
    conflicts: list[Conflict] = []
    search, work = Search(), 0
    for one in series:
        if one.path not in before:
            before[one.path] = after[one.path] = _content(tree, one)
        work += len(after[one.path] or b"")
        if work > _MOST_WORK_BYTES:
            raise Conflicts([f"{one.patch}:{one.line}: {one.path}: up to here more than {_MOST_WORK_BYTES} bytes were patched"])
        after[one.path], found = patched(after[one.path], one, search)
        conflicts += found
    if conflicts:
        raise Conflicts(_listed(conflicts))
    return before, after


def _listed(conflicts: Sequence[Conflict]) -> Iterator[str]:
    for conflict in conflicts[:_MOST_CONFLICTS]:
        yield from conflict.lines()
    if len(conflicts) > _MOST_CONFLICTS:
        yield f"and {len(conflicts) - _MOST_CONFLICTS} more conflicts"


def _read(file: Path, patch: Mapping[str, str]) -> tuple[FilePatch, ...]:
    try:
        content = read_file(file, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise Conflicts([f"{patch['name']}: {error}"]) from error
    if content is None or _sha256(content) != patch["sha256"]:
        raise Conflicts([f"{patch['name']}: the file that arrived has another sha256 than the controller's"])
    try:
        return parse(patch["name"], content)
    except BadPatch as error:
        raise Conflicts([str(error)]) from error


def _content(tree: Path, patch: FilePatch) -> bytes | None:
    try:
        place = place_in(tree, patch.path)
    except ValueError as error:
        raise Conflicts([f"{patch.patch}: {error}"]) from error
    try:
        return read_file(place, _MOST_TARGET_BYTES)
    except (OSError, ValueError) as error:
        raise Conflicts([f"{patch.patch}: {patch.path}: {error}"]) from error


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
