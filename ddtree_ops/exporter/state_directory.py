"""The directory of --state: looked at before anything is read, so that a wrong one is told in words, not by each collector."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ddtree_ops.errors import UsageError
from ddtree_ops.exporter import log

_HINT = "give --state a directory of your own"
_FIXES = {
    errno.ENOTDIR: "--state and what leads to it must be directories",
    errno.EEXIST: "--state and what is below it must be directories",
    errno.EROFS: "the file system is read-only: mount it read-write, or give --state another directory",
}
_LOCK = "exporter.lock"  # never removed: who waits for a name that is gone holds another file
_PID_BYTES = 20


@contextmanager
def claimed(path: Path, *below: Path) -> Iterator[None]:
    """Prepared, and ours alone within: two that count into one directory would count twice, or forget. Raises UsageError."""
    prepare(path, *below)
    descriptor = _lock(path)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock(path: Path) -> int | None:
    """None: there is no room for the lock, so there isn't any."""
    try:
        descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    except OSError as error:
        if not _is_no_room(error) and path.exists():
            raise _unusable(path, error) from error
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        other = os.pread(descriptor, _PID_BYTES, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        who = f"process {other}" if other.isdigit() else "another process"
        raise UsageError(f"the state directory {path} is in use by {who}", hint="end that exporter, or " + _HINT) from error
    with suppress(OSError):  # of the same length each time: a full disk has room for it
        os.pwrite(descriptor, f"{os.getpid():<{_PID_BYTES - 1}}\n".encode(), 0)
    return descriptor


def prepare(path: Path, *below: Path) -> None:
    """Make the directory and those below it, if they aren't there. Raises UsageError if they can't be made or written.

    A full disk is none of that: it passes, and until then what is counted is kept in memory.
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
            if not _is_no_room(error):
                raise _unusable(one, error) from error
            log.line(
                f"the state directory {one}: {error.strerror}; what is counted isn't kept over a restart until there is room"
            )
            return


def _is_no_room(error: OSError) -> bool:
    """Nothing is left of the disk, or of the quota."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _unusable(path: Path, error: OSError) -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"the state directory {path} can't be used: {reason}", hint=_FIXES.get(error.errno or 0, _HINT))


def _name(uid: int) -> str:
    import pwd  # noqa: PLC0415 - only for the message

    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
