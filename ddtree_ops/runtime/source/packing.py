"""Contents of many files as one compressed stream: what `on_host/sources.py` writes, four bytes of length before each content.

Where it comes from isn't trusted: nothing larger than a source file is ever held, and the whole is bounded.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from ddtree_ops.runtime.source.model import MOST_BYTES

MOST_UNPACKED = 512 << 20
_STEP = 1 << 20


class DamagedStreamError(ValueError):
    """The stream isn't whole, or larger than any source."""


def unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The contents, one after the other. Raises DamagedStreamError."""
    held = bytearray()
    for part in _inflated(chunks):
        held += part
        while len(held) >= 4:
            size = int.from_bytes(held[:4], "big")
            if size > MOST_BYTES:
                raise DamagedStreamError(f"a file of {size} bytes")
            if len(held) < 4 + size:
                break
            yield bytes(held[4 : 4 + size])
            del held[: 4 + size]
    if held:
        raise DamagedStreamError("it ends within a file")


def _inflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    stream = zlib.decompressobj()
    total = 0
    try:
        for chunk in chunks:
            rest = chunk
            while rest and not stream.eof:
                part = stream.decompress(rest, _STEP)
                rest = stream.unconsumed_tail
                total += len(part)
                if total > MOST_UNPACKED:
                    raise DamagedStreamError(f"more than {MOST_UNPACKED >> 20} MiB")
                yield part
    except zlib.error as error:
        raise DamagedStreamError(str(error)) from error
    if not stream.eof:
        raise DamagedStreamError("it ends too early")
