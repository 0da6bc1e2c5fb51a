"""uv's cache on the host, before a release is linked into it: what killed runs have left, and wrong owners and modes.

A release's files are hard links to the cache's: `chown -R` of one release changes the cache, and with it each later release.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from ansible.module_utils.ddtree_staging import drift


def make_ready(cache: Path) -> int:
    """Number of files whose owner or mode was set right. Other releases with the same files are mended, too. Raises OSError."""
    for path in cache.glob(".tmp*"):  # what uv unpacks lies in directories of this form until it is whole
        shutil.rmtree(path, ignore_errors=True)
    mended = 0
    for archive in cache.glob("archive-v*"):
        for entry in _files(str(archive)):
            seen = entry.stat(follow_symlinks=False)
            if drift.is_wrong(seen):
                set_right(entry.path, seen)
                mended += 1
    return mended


def set_right(path: str, seen: os.stat_result) -> None:
    """Root's; readable by all, and executable where it is for its owner. Content and time stay. Raises OSError."""
    os.chown(path, drift.OWNER, -1, follow_symlinks=False)
    os.chmod(path, 0o755 if seen.st_mode & stat.S_IXUSR else 0o644)  # noqa: PTH101 no link: after the owner, which clears set-uid


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    """Regular files below it, at any depth; 100,000 of them take less than a second."""
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry
