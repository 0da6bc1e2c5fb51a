"""Larger pieces of a stream: a connection or a pipe gives a few kilobytes at a time, and reading each piece has its cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PIECE_BYTES = 1 << 18


def gathered(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of 256 KiB and more; the last one may be smaller."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size >= PIECE_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)
