"""Files with a JSON object, which a power cut or somebody else may have spoilt."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

MOST_BYTES = 256 * 2**20  # a list of 50,000 files has 12 MiB


def read_object(path: Path, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """Raises OSError, or ValueError for a file that holds something else. A FIFO is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError("it is no regular file")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise ValueError(f"it is larger than {most_bytes} bytes")
    try:
        found = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found
