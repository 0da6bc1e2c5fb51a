"""What programs and servers say, read in pieces and kept within bounds, whatever it comes over."""

from __future__ import annotations

from collections.abc import Iterable

CHUNK = 65536
MOST_WORDS_BYTES = 1 << 16  # of its standard error: what a program that failed says of it


def whole(pieces: Iterable[bytes], most_bytes: int) -> bytes:
    """All pieces in one. Raises OverflowError beyond `most_bytes`, before the rest is read."""
    parts: list[bytes] = []
    size = 0
    for data in pieces:
        parts.append(data)
        size += len(data)
        if size > most_bytes:
            raise OverflowError
    return b"".join(parts)


class Words:
    """The beginning of what a program says on its standard error."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def keep(self, data: bytes) -> None:
        """What came; dropped once there is enough."""
        if len(self._kept) < MOST_WORDS_BYTES:
            self._kept += data

    def __str__(self) -> str:
        return self._kept.decode("utf-8", "replace")
