"""What a program on a host tells while it runs: JSON objects, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.ports import Stream

LONGEST_LINE = 1 << 22


def documents(stream: Stream) -> Iterator[Mapping[str, Any]]:
    """Each one as it comes; lines that are none (a login's greeting) are left out. Raises Unreachable, HostCommandFailed."""
    rest = b""
    for chunk in stream.chunks():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            found = _read(line)
            if isinstance(found, dict):
                yield found
        if len(rest) > LONGEST_LINE:
            raise HostCommandFailed("a line without end")


def _read(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
