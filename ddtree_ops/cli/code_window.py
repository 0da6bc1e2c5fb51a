"""A few lines of source around a place, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import click

from ddtree_ops.report.safe_text import block

if TYPE_CHECKING:
    from ddtree_ops.runtime.source.index import Index

_WIDEST = 160


class CodeWindows:
    """Reads each file once; lines that can't be read are left out."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lines = cache(self._read)

    def around(self, file: str, line: int, *, before: int = 1, indent: int = 4) -> Iterator[str]:
        """Numbered lines, the one in the middle marked; the indentation that they share is taken off."""
        lines = self._lines(file)
        chosen = range(max(1, line - before), min(len(lines), line + 1) + 1) if 0 < line <= len(lines) else range(0)
        shown = {number: block(lines[number - 1])[:_WIDEST].rstrip() for number in chosen}
        shared = min((len(text) - len(text.lstrip()) for text in shown.values() if text), default=0)
        width = len(str(line + 1))
        for number, text in shown.items():
            mark = ">" if number == line else " "
            yield click.style(f"{' ' * indent}{mark} {number:>{width}} | {text[shared:]}", dim=number != line)

    def _read(self, file: str) -> list[str]:
        try:
            text = self._index.source(file).read().decode("utf-8", "replace")
            return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        except (KeyError, OSError):
            return []
