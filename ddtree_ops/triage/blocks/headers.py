"""What begins a traceback: its header, what stands before it on its line, and the line above that says whose it is."""

from __future__ import annotations

import re
from typing import NamedTuple

from ddtree_ops.triage.blocks.frames import HEADER

#: Stands in the header in every form.
MARK = "Traceback (most recent"

_GROUP = "Exception Group "
_RICH = re.compile(r"(?P<before>[^\n]{0,200}?)[╭+][─-]+ Traceback \(most recent call last\) [─-]+[╮+]$")
# Who is about to print a traceback: uvicorn and starlette, threading, asyncio, the interpreter (Python/errors.c; from 3.14 on
# with "while ..."), multiprocessing (process.py), concurrent.futures.
_ANNOUNCEMENT = re.compile(
    r".{0,200}?(?:Exception in ASGI application|Exception in (?:thread|callback|worker) .{1,200}"
    r"|Exception ignored (?:in|while|on|from|during)\b.{0,300}"
    r"|(?:Task|Future) exception was never retrieved|exception calling callback .{1,200}|Process \S{1,200}:$)"
)
#: What such a line has in it.
ANNOUNCING = ("Exception in ", "Exception ignored ", "exception was never", "exception calling callback")


class Header(NamedTuple):
    """`before`: what stands before it on its line. `drawn`: it is a group's. `width`: of a box that rich drew, else 0."""

    before: str
    drawn: bool = False
    width: int = 0


def ends_with_header(text: str) -> bool:
    """Whether a traceback begins behind this line."""
    return text.rstrip().endswith(HEADER)


def read_header(text: str) -> Header | None:
    """The header at a line's end, or None."""
    if MARK not in text:
        return None
    text = text.rstrip()
    if not text.endswith(HEADER):
        found = _RICH.match(text)
        return Header(found["before"], width=len(text) - len(found["before"])) if found else None
    before = text[: -len(HEADER)]
    if not before.endswith(_GROUP):
        return Header(before)
    before = before.removesuffix(_GROUP)
    return Header(before.removesuffix("+ ").removesuffix("  ") if before.endswith("+ ") else before.rstrip(" |"), drawn=True)


def read_announcement(text: str) -> str | None:
    """The words of a line that says whose the traceback below it is, or None."""
    if not any(word in text for word in ANNOUNCING) and not text.startswith("Process "):
        return None
    found = _ANNOUNCEMENT.match(text)
    return found.group().strip() if found else None
