"""Lines of code as they stand in the files, bounded and on one line."""

from __future__ import annotations

from .program import FunctionId, HasName, Program

_LONGEST = 400
_LINES = 12
_SHORT = 160  # a statement is told on until it is so long
_OPEN_LINES = 4
_OPEN = ("(", "[", "{", "=", "\\")


class Code:
    """Reads files when their lines are asked for."""

    def __init__(self, program: Program) -> None:
        self._files: dict[str, HasName] = {file.name: file for file in program.index.tree.files}
        self._lines: dict[str, list[str]] = {}
        self._program = program

    def lines(self, file: str) -> list[str]:
        """A file's lines; empty if it can't be read any more."""
        found = self._lines.get(file)
        if found is None:
            try:
                text = self._files[file].read().decode("utf-8-sig", "replace")
            except (OSError, KeyError):
                text = ""
            found = self._lines[file] = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ").split("\n")
        return found

    def line(self, file: str, line: int) -> str:
        """One line without indentation."""
        lines = self.lines(file)
        return lines[line - 1].strip()[:_LONGEST] if 0 < line <= len(lines) else ""

    def statement(self, file: str, line: int) -> str:
        """A line, with those after it while it ends in an open bracket: `self.width = (` alone says nothing."""
        text, last = self.line(file, line), line
        while text.endswith(_OPEN) and len(text) < _SHORT and last < line + _LINES:
            last += 1
            text = f"{text} {self.line(file, last)}".strip()
        while text.count("(") > text.count(")") and len(text) < _SHORT and last < line + _OPEN_LINES:
            last += 1
            text = f"{text} {self.line(file, last)}".strip()
        return text[:_LONGEST]

    def joined(self, file: str, first: int, last: int) -> str:
        """Several lines as one."""
        parts = [self.line(file, number) for number in range(first, min(last, first + _LINES) + 1)]
        return " ".join(part for part in parts if part)[:_LONGEST]

    def span(self, file: str, span: tuple[int, int, int, int]) -> str:
        """A piece of code on one line; columns count bytes, as ast has them."""
        first, start, last, end = span
        lines = [each.encode() for each in self.lines(file)[first - 1 : min(last, first + _LINES)]]
        if not lines:
            return ""
        if last - first < len(lines):
            lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return " ".join(part.decode("utf-8", "replace").strip() for part in lines)[:_LONGEST]

    def function(self, function: FunctionId) -> str:
        """Its qualified name."""
        return self._program.function(function).qualified
