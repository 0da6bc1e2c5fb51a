"""Every file of a release with its size, time, inode and sha256, so that drift is found without reading.

`files.json`, which every look at a host reads:
    {"schema": "ddtree-ops/files/v1",
     "stat":     {"venv/.../x.py": [size, mtime_ns, inode], ...},     regular files
     "links":    {"venv/bin/python": "/usr/bin/python3", ...}}        symbolic links and where they lead
`digests.json`, which only staging reads; one of the files above:
    {"schema": "ddtree-ops/digests/v1",
     "sha256":   {"venv/.../x.py": "<hex>", ...},
     "bytecode": {"venv/.../__pycache__/x.pyc": [...], ...}}          as in stat; derived from the files above

A file that has inode, size and time of one that another release has listed is that file (a hard link into uv's cache): its
sha256 is known, and a second release with the same lock reads next to nothing.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .boots import write_durably
from .records import sha256

SCHEMA = "ddtree-ops/files/v1"
FILE_NAME = "files.json"
DIGESTS_SCHEMA = "ddtree-ops/digests/v1"
DIGESTS_NAME = "digests.json"
# The service role's, another value may come at any time.
NOT_LISTED = (FILE_NAME, "credentials", "credentials.next", ".credentials.dropped")
_BYTECODE = "__pycache__"
# Newer releases share more; each list is read whole.
_MOST_SIBLINGS = 3

Identity = tuple[int, int, int]
"""Size in bytes, time of the last change in nanoseconds, inode."""


@dataclass(frozen=True, slots=True)
class Known:
    """A file of another release that is as it was when that one was staged."""

    path: Path
    sha256: str | None


@dataclass(frozen=True)
class Listing:
    """The files of a release, by their path relative to it; `links` leads from a link's path to its text."""

    files: Mapping[str, Identity]
    links: Mapping[str, str]
    bytecode: Mapping[str, Identity]


def identity(status: os.stat_result) -> Identity:
    """What tells a file apart without reading it."""
    return status.st_size, status.st_mtime_ns, status.st_ino


def listing(release: Path) -> Listing:
    """What lies in a release now. Raises OSError."""
    files: dict[str, Identity] = {}
    links: dict[str, str] = {}
    bytecode: dict[str, Identity] = {}
    for path, status in _walk(str(release), ""):
        if stat.S_ISLNK(status.st_mode):
            links[path] = str((release / path).readlink())
        elif stat.S_ISREG(status.st_mode):
            place = bytecode if f"/{_BYTECODE}/" in path else files
            place[path] = identity(status)
    return Listing(files, links, bytecode)


def digests(release: Path, files: Mapping[str, Identity], known: Mapping[Identity, Known]) -> dict[str, str]:
    """sha256 of each file in hexadecimal; read are those that no other release has listed. Raises OSError."""
    found = {path: one.sha256 for path, which in files.items() if (one := known.get(which)) and one.sha256}
    unknown = [path for path in files if path not in found]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:  # hashlib releases the interpreter lock
        found |= zip(unknown, pool.map(lambda path: sha256(release / path), unknown), strict=True)
    return found


def write(release: Path, known: Mapping[Identity, Known]) -> None:
    """Write digests.json and, as the last file of a release, files.json; both durably. Raises OSError."""
    (release / DIGESTS_NAME).unlink(missing_ok=True)
    now = listing(release)
    hashes = digests(release, now.files, known)
    _write(release / DIGESTS_NAME, {"schema": DIGESTS_SCHEMA, "sha256": hashes, "bytecode": now.bytecode})
    stat = {**now.files, DIGESTS_NAME: identity((release / DIGESTS_NAME).stat())}
    _write(release / FILE_NAME, {"schema": SCHEMA, "stat": stat, "links": now.links})


def _write(path: Path, document: Mapping[str, Any]) -> None:
    write_durably(path, json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n")


def read(release: Path) -> dict[str, Any]:
    """A release's files.json and digests.json as one. Raises OSError, ValueError."""
    found: dict[str, Any] = {}
    for name, schema in ((FILE_NAME, SCHEMA), (DIGESTS_NAME, DIGESTS_SCHEMA)):
        document = json.loads((release / name).read_bytes())
        if not isinstance(document, dict) or document.get("schema") != schema:
            raise ValueError(f"{release / name}: expected the schema {schema}")
        found |= document
    return found


def known_files(releases: Path, but: str) -> dict[Identity, Known]:
    """Files of the newest other releases in a directory; `but` names the one that is left out."""
    found: dict[Identity, Known] = {}
    others = [
        path for path in releases.glob(f"*/{FILE_NAME}") if not path.parent.name.startswith(".") and path.parent.name != but
    ]
    for path in sorted(others, key=lambda one: one.stat().st_mtime_ns, reverse=True)[:_MOST_SIBLINGS]:
        try:
            document = read(path.parent)
            for name, which in (document["stat"] | document["bytecode"]).items():
                size, mtime_ns, inode = which
                found.setdefault((size, mtime_ns, inode), Known(path.parent / name, document["sha256"].get(name)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # a damaged release has nothing to share
    return found


def _walk(root: str, inside: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(f"{root}/{inside}") as entries:
        for entry in entries:
            path = f"{inside}{entry.name}"
            if path in NOT_LISTED:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(root, f"{path}/")
            else:
                yield path, entry.stat(follow_symlinks=False)
