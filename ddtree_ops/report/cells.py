"""Text by the columns that a terminal gives it: East Asian wide characters take two, combining ones none."""

from __future__ import annotations

import re
import textwrap
import unicodedata

_TOKEN = re.compile(r"\s+|\S+")


def cells(text: str) -> int:
    """Columns that the text takes (Unicode Standard Annex 11; ambiguous ones count as narrow)."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def fit(text: str, width: int) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    if cells(text) <= width:
        return text
    return _head(text, max(0, width - 1)) + "…"


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at spaces where possible; at least one line."""
    width = max(width, 2)
    if text.isascii():
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    lines, line = [], ""
    for token in _TOKEN.findall(text):
        if cells(line) + cells(token) <= width:
            line += token
            continue
        if line.strip():
            lines.append(line.rstrip())
        line = "" if token.isspace() else token
        while cells(line) > width:
            head = _head(line, width)
            lines.append(head)
            line = line[len(head) :]
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def _cell(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _head(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:index]
    return text
