"""The one way in which a file that somebody else named is read on this machine: regular files only, and never without end.

A FIFO would wait for a writer, a device may have no end, and merely opening some devices does something (watchdog(4)).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from ddtree_ops.errors import InvalidInventory

_CHUNK = 2**20


def read_regular(path: Path, most_bytes: int, *, key: str = "", hint: str | None = None) -> bytes:
    """The file's bytes, links followed. Raises InvalidInventory for anything but a regular file of at most `most_bytes`.

    The message is `KEY: PATH: what is wrong`; `hint` is the fix for a file that is missing or unreadable.
    """
    prefix = f"{key}: " if key else ""
    with open_regular(path, key=key, hint=hint) as stream:
        data = _read(stream.read, most_bytes)
    if len(data) > most_bytes:
        raise InvalidInventory(f"{prefix}{path}: is larger than {most_bytes} bytes", hint="see that it is the file that you mean")
    return data


@contextmanager
def open_regular(path: Path, *, key: str = "", hint: str | None = None) -> Iterator[BufferedReader]:
    """A regular file that is too large to hold, for a reader that knows where to stop. Raises as read_regular."""
    prefix = f"{key}: " if key else ""
    try:
        descriptor = _open(path)
    except ValueError as error:  # a NUL byte, or a character that this machine's file names can't have
        raise InvalidInventory(f"{prefix}{str(path)!r} can't be a path: {error}", hint="name a plain file") from error
    except _NotRegular as error:
        raise InvalidInventory(f"{prefix}{path}: is {error}, not a regular file", hint="name a plain file") from error
    except OSError as error:
        raise _unreadable(f"{prefix}{path}", error, hint) from error
    with os.fdopen(descriptor, "rb") as stream:
        try:
            yield stream
        except OSError as error:
            raise _unreadable(f"{prefix}{path}", error, hint) from error


def read_regular_text(path: Path, most_bytes: int, *, key: str = "", hint: str | None = None) -> str:
    """As read_regular, for UTF-8 text."""
    data = read_regular(path, most_bytes, key=key, hint=hint)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        prefix = f"{key}: " if key else ""
        raise InvalidInventory(f"{prefix}{path}: is no UTF-8 text (byte {error.start})", hint="save it as UTF-8") from error


def _unreadable(where: str, error: OSError, hint: str | None) -> InvalidInventory:
    fix = hint or "see that the file is there and that you may read it"
    return InvalidInventory(f"{where}: can't be read: {error.strerror or error}", hint=fix)


class _NotRegular(Exception):
    """Says what it is instead."""


_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def _open(path: Path) -> int:
    _check(os.stat(path).st_mode)  # noqa: PTH116 - before the open, and once more behind it
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check(os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise _NotRegular(_KINDS.get(stat.S_IFMT(mode), "something else"))


def _read(read: Callable[[int], bytes], most_bytes: int) -> bytes:
    """At most one byte more than `most_bytes`: that one shows that there are too many."""
    parts: list[bytes] = []
    left = most_bytes + 1
    while left > 0 and (part := read(min(left, _CHUNK))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
