"""Whether a release on the host still is what staging made: sizes, times and inodes against its own files.json.

No file is read, so this takes a fraction of a second; whoever changes a file and sets its time back is found by
`python -m sglang_ddtree.manifest verify`, which hashes everything.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

MANIFEST = "manifest.json"
FILES = "files.json"
_MOST_NAMED = 20


def damage(release: Path) -> list[str]:
    """What is wrong with a release, as `path: problem`; empty if nothing is, or if it is older than files.json."""
    try:
        manifest = json.loads((release / MANIFEST).read_bytes())
        if not isinstance(manifest, dict) or manifest.get("id") != release.name:
            return [f"{MANIFEST}: is another release's"]
    except (OSError, ValueError) as error:
        return [f"{MANIFEST}: can't be read: {error}"]
    if not manifest.get("files_listed"):
        return []
    try:
        listing = json.loads((release / FILES).read_bytes())
        return _differences(str(release), listing["stat"], listing["links"])[:_MOST_NAMED]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"{FILES}: can't be read: {error}"]


def _differences(release: str, files: dict[str, list[int]], links: dict[str, str]) -> list[str]:
    found = []
    for path, (size, mtime_ns, inode) in files.items():
        try:
            now = os.lstat(f"{release}/{path}")
        except OSError:
            found.append(f"{path}: is missing")
            continue
        if not stat.S_ISREG(now.st_mode) or (now.st_size, now.st_mtime_ns, now.st_ino) != (size, mtime_ns, inode):
            found.append(f"{path}: was changed")
    for path, target in links.items():
        try:
            if str(Path(release, path).readlink()) != target:
                found.append(f"{path}: leads elsewhere")
        except OSError:
            found.append(f"{path}: is missing")
    return found
