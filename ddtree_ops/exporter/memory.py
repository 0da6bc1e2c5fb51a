"""Keeps the exporter small over weeks: memory that a moment needed goes back to the system.

glibc raises its threshold for mmap to the largest block that was ever freed, up to 32 MiB, and keeps blocks below it in the arena
of the thread that asked for them, of which there may be eight for each core (mallopt(3): M_MMAP_THRESHOLD, M_ARENA_MAX). What one
password takes would then stay once for each arena.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_MMAP_THRESHOLD = -3  # malloc.h of glibc
_M_ARENA_MAX = -8
_THRESHOLD_BYTES = 1 << 20
_ARENAS = 2


def give_back() -> bool:
    """Set for the whole process, before its threads begin; False where the C library knows no such settings (musl)."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    mallopt.argtypes, mallopt.restype = (ctypes.c_int, ctypes.c_int), ctypes.c_int
    return bool(mallopt(_M_ARENA_MAX, _ARENAS)) and bool(mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES))


def trim() -> None:
    """Also what lies free between blocks in use: compiling the first page's templates leaves megabytes of it (malloc_trim(3))."""
    with suppress(OSError, AttributeError):  # musl
        ctypes.CDLL(None).malloc_trim(0)
