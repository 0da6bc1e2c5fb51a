"""For which GPUs a library carries code: the headers of its CUDA fat binaries, read without any tool of CUDA's.

Layout as in NVIDIA's fatbinary.h of old toolkits, and as seen in sglang-kernel 0.4.3: in section .nv_fatbin containers of
(magic 0xBA55ED50, version u16, header size u16, size u64), each with entries of (kind u16, u16, header size u32, size u64, ...,
minor u16, major u16, arch u32, ..., flags u64 at 40). A gigabyte of code takes milliseconds: only headers are touched.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_MAGIC = 0xBA55ED50
_PTX = 1
_SPECIFIC = 0x100000  # code of sm_90a and the like, which runs on no other
_MOST = 200_000  # entries, and steps over padding


@dataclass(frozen=True)
class Code:
    """Machine code (or PTX) for one architecture, such as 120 for sm_120; `specific`: for none but it."""

    arch: int
    ptx: bool
    specific: bool

    def runs_on(self, arch: int) -> bool:
        """Same architecture; older of the same major; PTX of any older one is compiled by the driver."""
        if self.arch == arch:
            return True
        if self.specific or self.arch > arch:
            return False
        return self.ptx or self.arch // 10 == arch // 10


def code(path: str) -> frozenset[Code]:
    """What a shared library carries; empty for none. Raises OSError or ValueError for what is no such file."""
    with open(path, "rb") as stream:
        if os.fstat(stream.fileno()).st_size < 64:
            return frozenset()
        with mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as data:
            try:
                return frozenset(one for begin, end in _sections(data) for one in _entries(data, begin, end))
            except (struct.error, OverflowError) as error:  # offsets beyond any file
                raise ValueError(str(error)) from error


def _sections(data: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Where .nv_fatbin and __nv_relfatbin lie in a 64-bit little-endian ELF file, elf(5)."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no ELF file of a 64-bit machine")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, table + index * size) for index in range(count)]
    if names >= len(headers):
        return
    for name, _, _, _, offset, length in headers:
        begin = headers[names][4] + name
        if data[begin : begin + 16].split(b"\0")[0] in (b".nv_fatbin", b"__nv_relfatbin"):
            yield offset, min(offset + length, len(data))


def _entries(data: mmap.mmap, place: int, end: int) -> Iterator[Code]:
    for _ in range(_MOST):
        if place + 16 > end:
            return
        magic, _, header, size = struct.unpack_from("<IHHQ", data, place)
        if magic != _MAGIC:
            place += 8
            continue
        entry, place = place + header, place + header + size
        while entry + 64 <= min(place, end):
            kind, _, head, length = struct.unpack_from("<HHIQ", data, entry)
            (arch,) = struct.unpack_from("<I", data, entry + 28)
            (flags,) = struct.unpack_from("<Q", data, entry + 40)
            yield Code(arch, kind == _PTX, bool(flags & _SPECIFIC))
            if head + length < 64:
                return
            entry += head + length
