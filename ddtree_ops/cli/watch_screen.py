"""One place of a terminal that is drawn over and over; what stood above it stays until the terminal gets another size."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_UP, _CLEAR_BELOW, _CLEAR_ALL = "\x1b[{}A", "\x1b[J", "\x1b[2J\x1b[H"


class Screen:
    """rich's Live leaves old lines behind when a terminal gets narrower, and overwrites what a shell wrote after Ctrl-Z.

    A terminal that gets another size breaks lines anew, so that nobody knows how far up the place begins: then the whole screen
    is cleared, what scrolled out of it stays.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lines = 0
        self._size = console.size

    def begin(self) -> None:
        """Draw below of what is there now."""
        self._lines = 0
        self._console.show_cursor(False)

    def end(self) -> None:
        """What was drawn last stays."""
        self._console.show_cursor(True)

    def draw(self, content: Callable[[int, int], RenderableType]) -> None:
        """`content` is made for a width and a height, and cut at that; it is one write, so that nothing flickers."""
        size = self._console.size
        with self._console.capture() as drawn:
            self._console.print(content(size.width, size.height))
        lines = drawn.get().splitlines(keepends=True)[: max(1, size.height - 1)]
        back = "" if not self._lines else _UP.format(self._lines) + _CLEAR_BELOW if size == self._size else _CLEAR_ALL
        self._lines, self._size = len(lines), size
        self._console.file.write(back + "".join(lines))
        self._console.file.flush()
