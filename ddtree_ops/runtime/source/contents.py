"""Contents of source files that came from hosts, by their sha256: what is here needn't travel again.

A folder of compressed files; each is written whole or not at all, and read only if its hash is the one it is named by.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import zlib
from pathlib import Path

from ddtree_ops.runtime.source.model import MOST_BYTES

MOST_KEPT = 256 << 20
_SHA = re.compile(r"[0-9a-f]{64}")


class Contents:
    """What can't be written down is kept in memory for as long as this object lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "contents"
        self._fresh: dict[str, bytes] = {}
        self._here: dict[str, set[str]] = {}

    def has(self, sha: str) -> bool:
        """Whether a content is here."""
        return sha in self._fresh or (_SHA.fullmatch(sha) is not None and sha[2:] in self._listed(sha[:2]))

    def _listed(self, part: str) -> set[str]:
        found = self._here.get(part)
        if found is None:
            try:
                found = set(os.listdir(self._folder / part))  # noqa: PTH208 - one call for many names
            except OSError:
                found = set()
            self._here[part] = found
        return found

    def read(self, sha: str) -> bytes:
        """A content. Raises FileNotFoundError if it isn't here, or is damaged (and removes it then)."""
        if sha in self._fresh:
            return self._fresh[sha]
        path = self._path(sha)
        try:
            content = zlib.decompressobj().decompress(path.read_bytes(), MOST_BYTES + 1)
        except zlib.error:
            content = b""
        if hashlib.sha256(content).hexdigest() != sha:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            raise FileNotFoundError(f"{path} is damaged")
        return content

    def keep(self, content: bytes) -> str:
        """Write a content down and give its sha256."""
        sha = hashlib.sha256(content).hexdigest()
        self._fresh[sha] = content
        path = self._path(sha)
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh.write_bytes(zlib.compress(content, 1))
            fresh.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)
        return sha

    def prune(self) -> None:
        """Drop the contents that were written first, beyond the limit; those of this object stay."""
        with contextlib.suppress(OSError):
            seen = sorted(((path.stat(), path) for path in self._folder.glob("*/*")), key=lambda one: -one[0].st_mtime)
            total = 0
            for stat, path in seen:
                total += stat.st_size
                if total > MOST_KEPT and path.parent.name + path.name not in self._fresh:
                    path.unlink(missing_ok=True)

    def _path(self, sha: str) -> Path:
        if _SHA.fullmatch(sha) is None:
            raise FileNotFoundError(f"{sha[:80]!r} is no sha256")
        return self._folder / sha[:2] / sha[2:]
