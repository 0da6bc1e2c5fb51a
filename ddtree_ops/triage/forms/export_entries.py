"""An export stream cut into entries that stay bytes, for putting several streams together (fields: export_stream.py)."""

from __future__ import annotations

import heapq
import io
import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ddtree_ops.triage.entry import MESSAGE_LIMIT, number

_LENGTH = struct.Struct("<Q")
_BUFFER = 1 << 18
_TIME = b"__REALTIME_TIMESTAMP="


class RawEntry(NamedTuple):
    """One entry with the empty line that ends it, and its time in microseconds (0: it has none)."""

    realtime_us: int
    data: bytes


def raw_entries(chunks: Iterable[bytes]) -> Iterator[RawEntry]:
    """The entries of a stream in order; fields that are too long for a message are left out, an unfinished last entry too."""
    stream = io.BufferedReader(_Raw(chunks), _BUFFER)
    parts: list[bytes] = []
    realtime = 0
    while line := stream.readline(MESSAGE_LIMIT):
        if line == b"\n":
            yield RawEntry(realtime, b"".join((*parts, line)))
            parts, realtime = [], 0
        elif not line.endswith(b"\n"):
            _pass_line(stream)
        elif b"=" in line:
            if line.startswith(_TIME):
                realtime = number(line[len(_TIME) : -1].decode("ascii", "replace")) or 0
            parts.append(line)
        else:
            parts += _binary(stream, line)


def merged(streams: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Several streams as one, in order of time, in pieces of a good size."""
    parts: list[bytes] = []
    size = 0
    for entry in heapq.merge(*map(raw_entries, streams), key=lambda entry: entry.realtime_us):
        parts.append(entry.data)
        size += len(entry.data)
        if size >= _BUFFER:
            yield b"".join(parts)
            parts, size = [], 0
    yield b"".join(parts)


def _binary(stream: io.BufferedReader[Any], name: bytes) -> tuple[bytes, ...]:
    """The field of this name, or nothing if it is too long or unfinished."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return ()
    (length,) = _LENGTH.unpack(head)
    if length <= MESSAGE_LIMIT:
        return name, head, stream.read(length + 1)
    left = length + 1
    while left > 0 and (piece := stream.read(min(left, _BUFFER))):
        left -= len(piece)
    return ()


def _pass_line(stream: io.BufferedReader[Any]) -> None:
    while (piece := stream.readline(MESSAGE_LIMIT)) and not piece.endswith(b"\n"):
        pass


class _Raw(io.RawIOBase):
    """Chunks as the raw file under a buffer."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._chunks = iter(chunks)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
