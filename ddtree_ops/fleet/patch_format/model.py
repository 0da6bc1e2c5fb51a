"""What a patch is, as data, and the words in which it is refused.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

from dataclasses import dataclass


class BadPatch(ValueError):
    """The patch itself can't be used. `where` is `<patch>:<line>`, the message says what is wrong with it."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One `@@` of a patch. Lines keep their ends, so that CRLF and a missing last newline are content like any other.

    `old_start` counts from 1; 0 for a file that is empty or not there. `line` is the header's line in the patch.
    """

    number: int
    line: int
    old_start: int
    new_start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    context_before: int
    context_after: int


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch does to one file. `path` is relative; `creates` and `deletes`: the file isn't there before, or after."""

    patch: str
    line: int
    path: str
    hunks: tuple[Hunk, ...]
    creates: bool = False
    deletes: bool = False
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Conflict:
    """A hunk that doesn't fit, or a file that isn't as the patch wants it (`hunk` is None)."""

    patch: str
    path: str
    hunk: int | None
    problem: str
    expected: bytes | None = None
    found: bytes | None = None

    def lines(self) -> tuple[str, ...]:
        """One line that names it, then what was expected and found, each safe to print."""
        where = f"{self.patch}: {self.path}" + (f" hunk {self.hunk}" if self.hunk is not None else "")
        shown = [f"{where}: {self.problem}"]
        if self.expected is not None:
            shown.append(f"  expected {printable(self.expected)}")
            shown.append(f"  found    {printable(self.found) if self.found is not None else 'the end of the file'}")
        return tuple(shown)


def printable(line: bytes, most: int = 160) -> str:
    """A line of a file in quotes, with its line end visible, cut to `most` characters."""
    text = repr(line.decode("utf-8", errors="backslashreplace")[: most + 1])
    return text if len(line) <= most else f"{text[:most]}..."
