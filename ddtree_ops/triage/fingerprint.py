"""A name for a failure that stays the same over ranks, values, addresses, line numbers and installations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from ddtree_ops.triage.block import Frame, ParsedException


def fingerprint(exceptions: Iterable[ParsedException], otherwise: str = "") -> str:
    """16 hex digits from exception types and in-app frames (file tail, function); without exceptions, from `otherwise`."""
    parts: list[str] = []
    for exception in exceptions:
        parts.append(exception.type)
        chosen = [frame for frame in exception.frames if frame.in_app] or list(exception.frames)
        for frame in chosen:
            place = f"{file_tail(frame)}:{frame.function or ''}"
            if place != parts[-1]:  # recursion of whatever depth is one frame
                parts.append(place)
    text = "\n".join(parts) or otherwise
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def file_tail(frame: Frame) -> str:
    """The last two parts of a frame's file: the same in a release, another venv and a source tree."""
    return "/".join(frame.file.rsplit("/", 2)[-2:])
