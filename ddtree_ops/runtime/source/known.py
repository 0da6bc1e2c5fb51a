"""Versions of SGLang and vLLM whose source was read before, so that `params diff` takes a bare version for a tree."""

from __future__ import annotations

import contextlib
import json
import os
import re
from functools import partial
from pathlib import Path
from typing import Any

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime.source import choosing
from ddtree_ops.runtime.source.contents import Contents
from ddtree_ops.runtime.source.model import SourceFile, SourceTree
from ddtree_ops.runtime.source.store import default_cache
from ddtree_ops.runtime.source.tree import open_tree

_VERSION = re.compile(r"\d[\w.+!]{0,59}")
_MOST_BYTES = 16 << 20


def remember(tree: SourceTree, cache: Path | None = None) -> None:
    """Note where a version's source is; where that can't be noted, it isn't."""
    if tree.version is None or not _VERSION.fullmatch(tree.version):
        return
    path = _path(tree.version, cache)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    row: dict[str, Any] = {"root": tree.root, "place": tree.place, "files": _by_content(tree)}
    text = json.dumps(row)
    with contextlib.suppress(OSError):
        if (tree.place or row["files"]) and _read(path) != text:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh.write_text(text)
            fresh.replace(path)


def recall(version: str, cache: Path | None = None) -> SourceTree | None:
    """The source of a version; None if it was never read, or isn't there any more."""
    try:
        row = json.loads(_read(_path(version, cache))) if _VERSION.fullmatch(version) else None
        if row is None:
            return None
        found = open_tree(Path(row["place"])) if row["place"] else _from_contents(row, version, cache)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UsageError):
        return None
    return found if found is not None and found.version == version else None


def versions(cache: Path | None = None) -> tuple[str, ...]:
    """Those that were read before."""
    return tuple(sorted(path.stem for path in _folder(cache).glob("*.json") if _VERSION.fullmatch(path.stem)))


def _by_content(tree: SourceTree) -> dict[str, str]:
    """Of a host's release, what `Contents` keeps."""
    found = {file.name: str(file.stamp[0]) for file in tree.files if len(file.stamp) == 1}
    return found if len(found) == len(tree.files) else {}


def _from_contents(row: dict[str, Any], version: str, cache: Path | None) -> SourceTree | None:
    contents = Contents(cache or default_cache())
    files = {str(name): str(sha) for name, sha in row["files"].items() if choosing.is_source(name)}
    if not files or not all(map(contents.has, files.values())):
        return None
    tree = (SourceFile(name, None, (sha,), partial(contents.read, sha)) for name, sha in sorted(files.items()))
    return SourceTree(str(row["root"]), version, tuple(tree))


def _folder(cache: Path | None) -> Path:
    return (cache or default_cache()) / "versions"


def _path(version: str, cache: Path | None) -> Path:
    return _folder(cache) / f"{version}.json"


def _read(path: Path) -> str:
    """Empty if there is nothing readable."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return ""
