"""Whether a release on the host still is what staging made: sizes, times and inodes against its own files.json.

Owner and mode are in no list; they follow one rule: root's, changed by nobody else, and readable by the service user.

No file is read, so this takes a fraction of a second; whoever changes a file and sets its time back is found by
`python -m sglang_ddtree.manifest verify`, which hashes everything.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from ansible.module_utils.ddtree_staging.reading import read_object

MANIFEST = "manifest.json"
FILES = "files.json"
OWNER = 0
_MOST_NAMED = 20


def damage(release: Path) -> list[str]:
    """What is wrong with a release, as `path: problem`; empty if nothing is, or if it is older than files.json."""
    try:
        manifest = read_object(release / MANIFEST)
        if manifest.get("id") != release.name:
            return [f"{MANIFEST}: is another release's"]
    except (OSError, ValueError) as error:
        return [f"{MANIFEST}: can't be read: {error}"]
    if not manifest.get("files_listed"):
        return []
    try:
        listing = read_object(release / FILES)
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
        elif is_wrong(now):
            found.append(f"{path}: {_words(now)}")
    for path, target in links.items():
        try:
            if str(Path(release, path).readlink()) != target:
                found.append(f"{path}: leads elsewhere")
        except OSError:
            found.append(f"{path}: is missing")
    return [*found, *_directories(release, (*files, *links))]


def _directories(release: str, paths: Iterable[str]) -> list[str]:
    """Those with a wrong owner or mode, of all that files lie in; a missing one was told by its files."""
    folders = {""}
    for path in paths:
        folder = os.path.dirname(path)  # noqa: PTH120 50,000 times
        while folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)  # noqa: PTH120
    found = []
    for folder in sorted(folders):
        try:
            now = os.lstat(f"{release}/{folder}")
        except OSError:
            continue
        if is_wrong(now):
            found.append(f"{folder or '.'}: {_words(now)}")
    return found


def is_wrong(seen: os.stat_result) -> bool:
    """Whether owner or mode aren't a release's: root's, writable by root alone, no set-uid, readable by every user."""
    mode = seen.st_mode
    if seen.st_uid != OWNER or mode & 0o022:
        return True
    if stat.S_ISDIR(mode):
        return mode & 0o005 != 0o005
    wanted = 0o005 if mode & 0o100 else 0o004
    return bool(mode & 0o6000) or mode & wanted != wanted


def _words(seen: os.stat_result) -> str:
    return f"has a wrong owner or mode: {stat.S_IMODE(seen.st_mode):04o} of user {seen.st_uid}"
