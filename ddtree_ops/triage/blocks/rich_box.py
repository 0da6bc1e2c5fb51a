"""Boxes that rich draws around a traceback (rich/traceback.py, Traceback._render_stack; 12 to 14), as plain lines.

    ╭───────────── Traceback (most recent call last) ──────────────╮
    │ /opt/app/serve.py:12 in main                                 │
    │                                                              │
    │   11 │   config = read()                                     │
    │ ❱ 12 │   run(config)                                         │
    ╰──────────────────────────────────────────────────────────────╯
    ValueError: bad config

Without a source file it writes `in main:12`. Long paths and messages are wrapped at the box's width.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ddtree_ops.triage.blocks.frames import HEADER
from ddtree_ops.triage.blocks.headers import read_header

_INSIDE = re.compile(r"\s*[│|](?P<text>.*)[│|]\s*$")
_BOTTOM = re.compile(r"\s*[╰+][─-]{10,}[╯+]\s*$")
_LOCALS_BEGIN = re.compile(r"[╭+][─-]+ locals [─-]+[╮+]$")
_LOCALS_END = re.compile(r"[╰+][─-]{5,}[╯+]$")
_CODE = re.compile(r"(?P<here>[❱>] {0,8})?\d{1,9}(?: (?P<code>.*))?$")
_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d{1,9}) in (?P<function>.+)$")
_PLACE_ONLY = re.compile(r"in (?P<function>.+):(?P<line>\d{1,9})$")


class RichBox:
    """Gives each line as the plain lines that the interpreter would have printed."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._open = True
        self._place = ""
        self._place_broken = False  # its row is full: the next one goes on within the word
        self._in_locals = False
        self._last = ""

    def plain(self, text: str) -> Iterator[tuple[str, bool]]:
        """The plain lines that a line of the box, or one behind it, stands for; with each, whether it goes on the one before."""
        if self._open:
            yield from ((line, False) for line in self._within(text))
            return
        header = read_header(text)
        if header and header.width:
            self._open, self._width, self._last = True, header.width, ""
            yield HEADER, False
        else:
            before, self._last = self._last, text
            first = text.split(" ", 1)[0]
            yield text, bool(first and before and len(before) <= self._width < len(before) + 1 + len(first))

    def _within(self, text: str) -> Iterator[str]:
        if _BOTTOM.match(text):
            self._open = False
            yield from self._frame()
            return
        found = _INSIDE.match(text)
        row = found["text"] if found else text
        inner = row.strip()
        if self._in_locals or _LOCALS_BEGIN.match(inner):
            self._in_locals = not _LOCALS_END.match(inner)
            return
        code = None if self._place_broken else _CODE.match(inner)
        if inner and not code:
            self._add_place(inner, full=len(row.rstrip()) >= len(row) - 1)
            return
        yield from self._frame()
        if code and code["here"] and code["code"]:
            yield f"    {code['code'].lstrip('│| ')}"

    def _add_place(self, inner: str, *, full: bool) -> None:
        glue = "" if not self._place or (self._place_broken and not inner.startswith("in ")) else " "
        self._place += glue + inner
        self._place_broken = full

    def _frame(self) -> Iterator[str]:
        place, self._place, self._place_broken = self._place, "", False
        found = _PLACE.match(place)
        if found:
            yield f'  File "{found["file"]}", line {found["line"]}, in {found["function"]}'
            return
        found = _PLACE_ONLY.match(place)
        if found:
            yield f'  File "<unknown>", line {found["line"]}, in {found["function"]}'
