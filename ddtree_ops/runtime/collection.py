"""Python's garbage collector, put aside where very many objects are made that all stay."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection(*, keep: bool = False) -> Iterator[None]:
    """No cyclic garbage collection inside: it would walk everything that was made so far, again and again.

    `keep`: nor is what was made inside walked afterwards; it goes when the last reference to it does.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if keep:
                gc.freeze()
            gc.enable()
