"""Reading on in the host's audit log: each line once, also when it begins anew and the former file is kept beside it.

How it does that: role service, lock.py, shorten(). A file is known by its inode; stat(1) and dd(1) of GNU coreutils read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Shell
from ddtree_ops.units.json_object import json_object

FILES = (f"{places.AUDIT}.1", places.AUDIT)
CHUNK = 256 << 10
MOST_CHUNKS = 64  # of one reading: 16 MiB, more than both files have
LONGEST_LINE = 2 << 20


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file was read; inode 0: none was."""

    inode: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    inode: int
    size: int


class AuditTail:
    """Reads records in their order. `position` may be kept and given again after a restart."""

    def __init__(self, shell: Shell, position: Position) -> None:
        self._shell = shell
        self.position = position

    def records(self) -> Iterator[dict[str, Any]]:
        """Those that are new. `position` is behind them once all were taken. Raises Unreachable, HostCommandFailed."""
        files = self._files()
        known = [place for place, file in enumerate(files) if file.inode == self.position.inode]
        for place, file in enumerate(files):
            if known and place < known[-1]:
                continue
            start = self.position.offset if known and place == known[-1] and self.position.offset <= file.size else 0
            yield from self._lines(file, start)

    def _files(self) -> list[_File]:
        command = Command(("stat", "-c", "%i %s %n", *FILES), ok=frozenset({0, 1}), timeout=10.0, most_bytes=1 << 16)
        found = {}
        for line in self._shell.run(command).stdout.splitlines():
            inode, size, path = line.split(" ", 2)
            found[path] = _File(path, int(inode), int(size))
        return [found[path] for path in FILES if path in found]

    def _lines(self, file: _File, start: int) -> Iterator[dict[str, Any]]:
        """Whole lines only: the last one may be half written."""
        offset, length = start, CHUNK
        for _ in range(MOST_CHUNKS):
            if offset >= file.size:
                break
            data = self._read(file, offset, length)
            end = data.rfind(b"\n") + 1
            if not end and len(data) < length:
                break
            if not end and length < LONGEST_LINE:
                length = LONGEST_LINE
                continue
            for line in data[: end or len(data)].split(b"\n"):
                record = json_object(line)
                if record is not None:
                    yield record
            offset, length = offset + (end or len(data)), CHUNK
        self.position = Position(file.inode, offset)

    def _read(self, file: _File, offset: int, length: int) -> bytes:
        """Latin-1 would do as well: JSON lines of json.dumps are ASCII; what isn't is no record of ours."""
        flags = "iflag=skip_bytes,count_bytes"
        argv = ("dd", f"if={file.path}", flags, f"skip={offset}", f"count={length}", "bs=65536", "status=none")
        done = self._shell.run(Command(argv, timeout=20.0, most_bytes=LONGEST_LINE * 4))
        return done.stdout.encode("ascii", "replace")
