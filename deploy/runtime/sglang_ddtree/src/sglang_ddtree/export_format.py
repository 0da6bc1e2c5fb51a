"""Reading `journalctl -o export` from a stream of bytes.

The format (systemd's "Journal Export Format"): fields as `NAME=value\\n`, or, when the value isn't plain text,
`NAME\\n`, its length as 64 bits little endian, the bytes and `\\n`; an empty line ends an entry.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

_LARGEST_FIELD = 64 * 1024 * 1024


def read_entries(stream: BinaryIO) -> Iterator[dict[str, bytes]]:
    """Yield entries until the stream ends; an entry that the end cut off is dropped. Raises ValueError for garbage."""
    entry: dict[str, bytes] = {}
    while line := stream.readline():
        if not line.endswith(b"\n"):
            return
        if line == b"\n":
            if entry:
                yield entry
            entry = {}
            continue
        name, equals, value = line[:-1].partition(b"=")
        if not equals:
            binary = _binary_value(stream)
            if binary is None:
                return
            value = binary
        entry[name.decode("ascii", "replace")] = value


def _binary_value(stream: BinaryIO) -> bytes | None:
    header = _exactly(stream, 8)
    if header is None:
        return None
    (length,) = struct.unpack("<Q", header)
    if length > _LARGEST_FIELD:
        raise ValueError(f"a field of {length} bytes: this is not the journal export format")
    value = _exactly(stream, length + 1)
    return value[:-1] if value is not None else None


def _exactly(stream: BinaryIO, count: int) -> bytes | None:
    data = stream.read(count)  # a BufferedReader reads until it has them all or the stream ends
    return data if len(data) == count else None
