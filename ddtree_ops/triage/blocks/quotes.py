"""Tracebacks within an exception's message: a parent repeats what its child printed.

- three quotes, three quotes: concurrent.futures and multiprocessing.pool (CPython's Lib/concurrent/futures/process.py)
- `-- Process 3 terminated with the following error:`: torch/multiprocessing/spawn.py
- `Original Traceback (most recent call last):`: torch/_utils.py, ExceptionWrapper
- `ray::f() (pid=1, ip=...)` in place of each header: ray/exceptions.py, RayTaskError
- any message whose last line so far ends with a colon, or has the header behind it
"""

from __future__ import annotations

import re
from enum import Enum, auto

from ddtree_ops.triage.blocks.draft import Draft
from ddtree_ops.triage.blocks.exception_lines import RELATIONS
from ddtree_ops.triage.blocks.frames import HEADER

_SPAWN = re.compile(r"-- Process \d+ terminated with the following error:$")
RAY_HEADER = re.compile(r"ray::[^\n]{1,300}\(pid=\d+")
_MARK = '"""'


class Quote(Enum):
    """How it stands there, which is how it ends."""

    TRIPLE = auto()
    SPAWN = auto()
    RAY = auto()
    OPEN = auto()


def quote_of(text: str, draft: Draft) -> Quote | None:
    """The quote that begins with this line of the draft's message, or None."""
    stripped = text.strip()
    if stripped == _MARK:
        return Quote.TRIPLE
    if RAY_HEADER.match(stripped):
        return Quote.RAY
    if _SPAWN.match(stripped):
        return Quote.SPAWN
    if not stripped.endswith(HEADER):
        return None
    before = stripped.removesuffix(HEADER)
    if before == "Original " or not draft.message or (not before and draft.last_line.endswith(":")):
        return Quote.OPEN
    return None


def closes(quote: Quote, text: str) -> bool:
    """Whether the line ends the quote."""
    return quote is Quote.TRIPLE and text.strip() == _MARK


def may_follow(last: str) -> bool:
    """Whether a further header can follow this line within a quote."""
    return last in RELATIONS or last.endswith(":")


def continues(quote: Quote, message: list[str]) -> bool:
    """Whether "the above exception ..." belongs to what is quoted. Nothing but the kind of quote tells."""
    return quote in (Quote.TRIPLE, Quote.SPAWN, Quote.RAY) and bool(message)
