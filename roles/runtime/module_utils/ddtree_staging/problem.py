"""The one exception by which staging ends: what is wrong, in one line, and lines that show it."""

from __future__ import annotations

import errno
import re
import shutil
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_WORDS = ("No space left on device", "Disk quota exceeded", "os error 28", "os error 122")
# user:password@ of an index's URL
_USERINFO = re.compile(r"://[^/@\s]{1,500}@")
_MOST_LINES = 20
# Bytes. Below this, a program that failed has most likely failed for want of space.
_ALMOST_NOTHING = 4 * 2**20


class Problem(Exception):
    """Staging can't go on. `message` is one line with the fix; `lines` show it."""

    def __init__(self, message: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.lines = tuple(without_secrets(line) for line in lines[-_MOST_LINES:])


def without_secrets(text: str) -> str:
    """The text with the credentials of URLs taken out."""
    return _USERINFO.sub("://***@", text)


def is_full(error: BaseException) -> bool:
    """Whether the file system (or the quota) is what ended it."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return isinstance(error, Problem) and says_full("\n".join((error.message, *error.lines)))


def says_full(text: str) -> bool:
    """Whether a program's words mean a full file system or quota."""
    return any(words in text for words in _FULL_WORDS)


def disk_full(root: Path, free_mib: int) -> Problem:
    """What to say of a full disk; `free_mib` is what was free before this run took any."""
    return Problem(
        f"the file system of {root} is full: {free_mib} MiB were free before staging, which was not enough for this release; "
        "nothing of it was left behind. Fix: remove old releases (ddtree-ops releases) or enlarge the file system"
    )


def free_mib(place: Path) -> int:
    """MiB that are free where `place` is or will be."""
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free // 2**20


def is_almost_full(place: Path) -> bool:
    """There is next to nothing left: programs don't always pass on why they failed."""
    return shutil.disk_usage(place).free < _ALMOST_NOTHING
