"""The drawing around an exception group's members (CPython's Lib/traceback.py, `format` and `emit`; 3.11 on).

    + Exception Group Traceback (most recent call last):
    |   File ...
    | ExceptionGroup: both (2 sub-exceptions)
    +-+---------------- 1 ----------------
      | ValueError: first
      +---------------- 2 ----------------
      | Exception Group Traceback ...
      +-+---------------- 1 ----------------
        | KeyError: 'x'
        +------------------------------------

A margin's column tells the depth. One closing line ends all groups whose last members it closes.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

_DIVIDER = re.compile(r"\+(?P<open>-\+)?-{10,20} (?:\d{1,9}|\.\.\.) -{10,20}\s*$")
_CLOSING = re.compile(r"\+-{25,45}\s*$")
_HEADER = "+ Exception Group Traceback "


class Part(Enum):
    """What a line of the drawing is."""

    TEXT = auto()
    OPEN = auto()  # the first member's divider
    NEXT = auto()
    CLOSE = auto()


class Drawn(NamedTuple):
    """A line of the drawing: `text` is what stands inside, `column` where its margin (a divider's: its members' margin) is."""

    part: Part
    column: int
    text: str = ""


def read_drawn(text: str) -> Drawn | None:
    """The line as a part of the drawing, or None."""
    inner = text.lstrip(" ")
    column = len(text) - len(inner)
    if inner.startswith("|"):
        return Drawn(Part.TEXT, column, inner[1:].removeprefix(" "))
    if not inner.startswith("+"):
        return None
    if inner.startswith(_HEADER):
        return Drawn(Part.TEXT, column, inner[2:])
    found = _DIVIDER.match(inner)
    if found:
        return Drawn(Part.OPEN, column + 2) if found["open"] else Drawn(Part.NEXT, column)
    return Drawn(Part.CLOSE, column) if _CLOSING.match(inner) else None
