"""The directory of --state: looked at before anything is read, so that a wrong one is told in words, not by each collector."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from ddtree_ops.errors import UsageError

_HINT = "give --state a directory of your own"
_FIXES = {
    errno.ENOTDIR: "--state and what leads to it must be directories",
    errno.EEXIST: "--state and what is below it must be directories",
    errno.EROFS: "the file system is read-only: mount it read-write, or give --state another directory",
    errno.ENOSPC: "the disk is full: make space there, or give --state another directory",
}


def prepare(path: Path, *below: Path) -> None:
    """Make the directory and those below it, if they aren't there. Raises UsageError if they can't be made or written.

    One of another user is refused to root as well: files that root leaves there can't be replaced by the user whose they are.
    """
    for one in (path, *below):
        try:
            one.mkdir(mode=0o750, parents=True, exist_ok=True)
            owner = one.stat().st_uid
            if owner != os.geteuid():
                raise UsageError(f"the state directory {one} belongs to {_name(owner)}, not to {_name(os.geteuid())}", hint=_HINT)
            with tempfile.TemporaryFile(dir=one) as file:
                file.write(b"x")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise UsageError(
                f"the state directory {one} can't be used: {reason}", hint=_FIXES.get(error.errno or 0, _HINT)
            ) from error


def _name(uid: int) -> str:
    import pwd  # noqa: PLC0415 - only for the message

    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
