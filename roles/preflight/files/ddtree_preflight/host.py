"""The host as checks see it: files, programs, space, clock. Tests give it another root and other answers."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .aside import Aside
from .running import SECONDS, Answer, Running

MOST_BYTES = 1 << 20
# <linux/timex.h>: struct timex has its status at byte 40 on 64-bit machines; STA_UNSYNC
_STATUS_AT = 40
_STA_UNSYNC = 0x40


class Pending(Protocol):
    """Work that goes on."""

    def answer(self) -> dict[str, Any]: ...


class Started(Protocol):
    """A program that runs."""

    def answer(self) -> Answer: ...


@dataclass(frozen=True)
class Space:
    """A file system: bytes and inodes, all and free for its users; `inodes` is 0 where there is no fixed number."""

    total: int
    free: int
    inodes: int
    free_inodes: int


class Host:
    """This machine, or a folder that looks like one."""

    def __init__(self, root: str = "") -> None:
        self.root = root

    def start(self, *argv: str, seconds: float = SECONDS) -> Started:
        """Start a program; nothing waits."""
        return Running(argv, seconds)

    def aside(self, work: Callable[[], Any]) -> Pending:
        """Work that a file system may let hang."""
        return Aside(work)

    def read(self, path: str, most: int = MOST_BYTES) -> str:
        """The beginning of a file; empty if there is none."""
        return self.read_bytes(path, most).decode("utf-8", "replace")

    def read_bytes(self, path: str, most: int = MOST_BYTES) -> bytes:
        try:
            number = os.open(self.root + path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError):
            return b""
        try:
            with open(number, "rb", buffering=0) as stream:
                parts = []
                while most > 0 and (data := stream.read(most)):
                    parts.append(data)
                    most -= len(data)
                return b"".join(parts)
        except OSError:
            return b""

    def names(self, directory: str) -> list[str]:
        """What lies in a directory, sorted; nothing if there is none."""
        try:
            return sorted(os.listdir(self.root + directory))
        except (OSError, ValueError):
            return []

    def link(self, path: str) -> str | None:
        """Where a symbolic link points to, as it is written."""
        try:
            return os.readlink(self.root + path)
        except (OSError, ValueError):
            return None

    def real(self, path: str) -> str:
        """The path without links, below this host's root."""
        return os.path.realpath(self.root + path)[len(os.path.realpath(self.root)) if self.root else 0 :]

    def exists(self, path: str) -> bool:
        return os.path.lexists(self.root + path)

    def size(self, path: str) -> tuple[int, int, float] | None:
        """Bytes, owner and time of change (s since 1970) of what is no link; None if there is nothing."""
        try:
            found = os.lstat(self.root + path)
        except (OSError, ValueError):
            return None
        return None if stat.S_ISLNK(found.st_mode) else (found.st_size, found.st_uid, found.st_mtime)

    def runs(self, path: str) -> bool:
        """Whether a path is a program."""
        return os.path.isfile(self.root + path) and os.access(self.root + path, os.X_OK)

    def space(self, path: str) -> Space | None:
        """Of the file system that a path is on; None if there is no such path."""
        try:
            found = os.statvfs(self.root + path)
        except OSError:
            return None
        return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize, found.f_files, found.f_favail)

    def now(self) -> float:
        return time.time()

    def glibc(self) -> str:
        """Version of the C library, such as `2.39`; empty for another one."""
        try:
            return (os.confstr("CS_GNU_LIBC_VERSION") or "").rpartition(" ")[2]
        except (ValueError, OSError):
            return ""

    def clock_is_kept(self) -> bool | None:
        """Whether something keeps the kernel's clock right, adjtimex(2); None where that can't be asked."""
        if struct.calcsize("l") != 8:
            return None
        buffer = ctypes.create_string_buffer(512)
        try:
            if ctypes.CDLL(None).adjtimex(buffer) < 0:
                return None
        except (OSError, AttributeError):
            return None
        status: int = struct.unpack_from("i", buffer.raw, _STATUS_AT)[0]
        return not status & _STA_UNSYNC
