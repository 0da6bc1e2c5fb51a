"""What all parts of the terminal text share: its width, and styles where colour is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ddtree_ops.report.cells import fit, wrap

_RESET = "\x1b[0m"
_STYLES = {
    "bad": "\x1b[1;31m",
    "good": "\x1b[1;32m",
    "unsure": "\x1b[1;33m",
    "place": "\x1b[36m",
    "strong": "\x1b[1m",
    "dim": "\x1b[2m",
    "": "",
}
_LABEL = 12


class Page:
    """Gives lines; what is passed in must be clean already, for nothing here looks at its characters."""

    def __init__(self, *, colour: bool, width: int) -> None:
        self._colour, self.width = colour, width

    @property
    def beside(self) -> int:
        """Columns beside a label."""
        return self.width - _LABEL

    def style(self, name: str, text: str) -> str:
        """The text in a style, or plain."""
        return f"{_STYLES[name]}{text}{_RESET}" if self._colour and name and text else text

    def line(self, style: str, text: str, indent: int = 0) -> str:
        """One line, cut at the page's width."""
        return " " * indent + self.style(style, fit(text, self.width - indent))

    def paragraph(self, style: str, text: str, indent: int = 0, first: int | None = None) -> Iterator[str]:
        """A text in as many lines as it takes; its first line may be indented otherwise."""
        for index, part in enumerate(wrap(text, self.width - indent)):
            margin = first if index == 0 and first is not None else indent
            yield " " * margin + self.style(style, part)

    def labelled(self, label: str, texts: Iterable[str], style: str = "") -> Iterator[str]:
        """Texts beside a label."""
        for index, text in enumerate(texts):
            for row, part in enumerate(wrap(text, self.width - _LABEL)):
                head = f"{label:<{_LABEL}}" if index == row == 0 else " " * _LABEL
                yield (self.style("strong", head) if index == row == 0 else head) + self.style(style, part)

    def labelled_lines(self, label: str, texts: Iterable[tuple[str, str]]) -> Iterator[str]:
        """(style, text) beside a label, each one line, cut."""
        for index, (style, text) in enumerate(texts):
            head = f"{label if index == 0 else '':<{_LABEL}}"
            yield (self.style("strong", head) if index == 0 else head) + self.style(style, fit(text, self.width - _LABEL))
