"""A pipe whose reader has left (`ddtree-ops deploy | head -1`): what was done is done, and the exit code says how."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """What can't be written any more is dropped; Python's own flush at its end finds a stdout that takes it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
