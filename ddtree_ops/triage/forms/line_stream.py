"""A stream of bytes as blocks of whole lines, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator


class LineStream:
    """`feed` bytes as they come; each block that comes back ends with a newline.

    A line that is longer than `limit` bytes is cut, behind a carriage return if it has one (a progress bar may be
    redrawn for hours without a newline), and each piece gets a newline of its own; with `drop`, the rest of such a line
    is left out instead, because a piece of it would mean something else.
    """

    def __init__(self, limit: int, *, drop: bool = False) -> None:
        self._limit, self._drop = limit, drop
        self._parts: list[bytes] = []
        self._size = 0
        self._dropping = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that became complete, in blocks of at most a few times `limit` bytes."""
        for start in range(0, len(chunk), self._limit):
            yield from self._feed(chunk[start : start + self._limit])

    def close(self) -> Iterator[bytes]:
        """The last line, if it has no newline."""
        rest = b"".join(self._parts)
        self._parts, self._size = [], 0
        if rest and not self._dropping:
            yield rest + b"\n"

    def _feed(self, chunk: bytes) -> Iterator[bytes]:
        if self._dropping:
            end = chunk.find(b"\n")
            if end < 0:
                return
            self._dropping, chunk = False, chunk[end + 1 :]
        end = chunk.rfind(b"\n") + 1
        if end == 0:
            self._parts.append(chunk)
            self._size += len(chunk)
            if self._size > self._limit:
                yield from self._cut(b"".join(self._parts))
            return
        block = b"".join((*self._parts, chunk[:end])) if self._parts else chunk[:end]
        rest = chunk[end:]
        if self._size and (first := block.find(b"\n")) > self._limit:
            self._parts = []
            yield from self._cut(block[:first])
            block = b"".join((*self._parts, block[first:])) if not self._dropping else block[first + 1 :]
            self._dropping = False
        self._parts, self._size = [rest] if rest else [], len(rest)
        if block:
            yield block

    def _cut(self, line: bytes) -> Iterator[bytes]:
        """Pieces of an overlong line without its end; what is left for the next piece goes back to the parts."""
        if self._drop:
            self._parts, self._size, self._dropping = [], 0, True
            yield line[: self._limit] + b"\n"
            return
        start = 0
        while len(line) - start > self._limit:
            end = line.rfind(b"\r", start, start + self._limit) + 1 or start + self._limit
            yield line[start:end] + b"\n"
            start = end
        self._parts, self._size = [line[start:]], len(line) - start
