"""gzip and zstd, unpacked while they pass by in pieces of bounded size, whatever they expand to.

Several members or frames in a row are one stream (`cat a.gz b.gz`, logrotate). A truncated end gives what there is.
"""

from __future__ import annotations

import io
import itertools
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, cast

from ddtree_ops.errors import UsageError

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PIECE = 1 << 16
# A frame may ask for gigabytes of window (RFC 8878, section 3.1.1.1.2); `zstd` itself refuses more than 128 MiB.
_WINDOW_LIMIT = 64 << 20
_GZIP_BITS = 16 + zlib.MAX_WBITS


class Unpacked:
    """`chunks` unpacked, if they are packed. `lost`: bytes at least that damage made unreadable, after the last piece.

    Raises UsageError if nothing could be unpacked.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self.lost = 0

    def __iter__(self) -> Iterator[bytes]:
        start = b""
        for chunk in self._chunks:
            start += chunk
            if len(start) >= len(ZSTD):
                break
        whole = itertools.chain((start,), self._chunks)
        if start.startswith(GZIP):
            return self._guarded("gzip", _gunzip(whole), zlib.error)
        if start.startswith(ZSTD):
            import zstandard  # noqa: PLC0415 - few logs need it

            return self._guarded("zstd", _unzstd(whole), zstandard.ZstdError)
        return whole

    def _guarded(self, name: str, pieces: Iterator[bytes], error_type: type[Exception]) -> Iterator[bytes]:
        some = False
        try:
            for piece in pieces:
                some = True
                yield piece
        except error_type as error:
            if not some:
                raise UsageError(f"the {name} data can't be unpacked: {error}") from error
            self.lost = 1


def _gunzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    unpacker, between = zlib.decompressobj(_GZIP_BITS), False
    for chunk in chunks:
        data = chunk.lstrip(b"\0") if between else chunk
        while data:
            between = False
            piece = unpacker.decompress(data, PIECE)
            if piece:
                yield piece
            data = unpacker.unconsumed_tail
            if unpacker.eof:  # zeros between members and at the end are padding
                data = unpacker.unused_data.lstrip(b"\0")
                unpacker, between = zlib.decompressobj(_GZIP_BITS), True
    while piece := unpacker.decompress(unpacker.unconsumed_tail, PIECE):
        yield piece


def _unzstd(chunks: Iterable[bytes]) -> Iterator[bytes]:
    import zstandard  # noqa: PLC0415 - as above

    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW_LIMIT)
    with unpacker.stream_reader(cast(IO[bytes], _File(chunks)), read_size=PIECE, read_across_frames=True) as reader:
        while piece := reader.read(PIECE):
            yield piece


class _File(io.RawIOBase):
    """`chunks` as the file that zstandard reads from."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._chunks = iter(chunks)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes; none at the end."""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._rest = chunk
        count = len(self._rest) if size < 0 else size
        piece, self._rest = self._rest[:count], self._rest[count:]
        return piece
