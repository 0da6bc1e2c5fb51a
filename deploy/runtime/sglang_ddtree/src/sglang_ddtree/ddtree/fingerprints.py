"""Strict loading: the SGLang releases this plugin fits, known by the content of the files whose interfaces it relies on.

A patched or other SGLang may call the same names with another meaning, and would answer wrongly rather than crash; so anything
else than a known release ends the process.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

_KNOWN = ("sglang-0.5.13.post1.json",)
_DIGEST_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Release:
    """A known release: its version, and sha256 by path below the package `sglang`."""

    version: str
    sha256: dict[str, str]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """How an installed SGLang differs from the closest known release; empty `files`: there is no SGLang at all."""

    version: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.files[:4]) + (f" and {len(self.files) - 4} more" if len(self.files) > 4 else "")
        return f"not the SGLang {self.version} this plugin was made for: {shown or 'the package is missing'} differ"


def known_releases() -> tuple[Release, ...]:
    """The releases this plugin was made for, read from its own data."""
    folder = files(__package__) / "releases"
    loaded = (json.loads((folder / name).read_text(encoding="utf-8")) for name in _KNOWN)
    return tuple(Release(data["version"], data["sha256"]) for data in loaded)


def identify(package: Path, releases: tuple[Release, ...] | None = None) -> Release | Mismatch:
    """Which known release lies in `package` (the folder `sglang`), or how it differs from the closest one."""
    known = known_releases() if releases is None else releases
    best: Mismatch | None = None
    for release in known:
        differing = tuple(name for name, digest in release.sha256.items() if _sha256(package / name) != digest)
        if not differing:
            return release
        if best is None or len(differing) < len(best.files):
            best = Mismatch(release.version, differing)
    return best or Mismatch("(none)", ())


def _sha256(path: Path) -> str | None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_DIGEST_CHUNK):
                digest.update(chunk)
    except OSError:
        return None
    return digest.hexdigest()
