"""A name for a failure that stays the same over ranks, values, addresses, line numbers and installations."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from ddtree_ops.triage.block import Frame, ParsedException

_HEX_WORD = re.compile(r"\b(?:0x)?([0-9a-f]+)\b")
_DIGITS_WITHIN = re.compile(r"(?<=\D)\d+")
_TEXT_LIMIT = 2000  # characters; what tells failures apart stands at the beginning


def fingerprint(exceptions: Iterable[ParsedException], otherwise: str = "") -> str:
    """16 hex digits from exception types and in-app frames (file tail, function).

    Of an exception without frames the message's first line stands for them; without exceptions `otherwise` does. Values
    in either don't count.
    """
    parts: list[str] = []
    for exception in exceptions:
        parts.append(exception.type)
        if not exception.frames:
            parts.append(without_values(exception.message.split("\n", 1)[0]))
        chosen = [frame for frame in exception.frames if frame.in_app] or list(exception.frames)
        for frame in chosen:
            place = f"{file_tail(frame)}:{frame.function or ''}"
            if place != parts[-1]:  # recursion of whatever depth is one frame
                parts.append(place)
    text = "\n".join(parts) or without_values(otherwise)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def without_values(text: str) -> str:
    """Text with numbers, addresses and ids of releases as `#`: the same for two runs that ended alike."""
    whole = _HEX_WORD.sub(lambda found: "#" if any(map(str.isdigit, found[1])) else found[0], text[:_TEXT_LIMIT])
    return _DIGITS_WITHIN.sub("#", whole)


def file_tail(frame: Frame) -> str:
    """The last two parts of a frame's file: the same in a release, another venv and a source tree."""
    return "/".join(frame.file.rsplit("/", 2)[-2:])
