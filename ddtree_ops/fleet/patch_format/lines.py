"""Apply the hunks of one file to its content, exactly: every line where the patch says, or a conflict that shows both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .model import Conflict, FilePatch, Hunk

# How far around its place a hunk's lines are looked for, to say that they have moved.
_SEARCHED = 2000
_MOST_COMPARED = 1_000_000


@dataclass
class Search:
    """How many lines may still be compared to find where hunks have moved to: one allowance for a whole series."""

    left: int = _MOST_COMPARED


def patched(content: bytes | None, patch: FilePatch, search: Search | None = None) -> tuple[bytes | None, list[Conflict]]:
    """The new content (None: no file) and the conflicts; with any conflict the content means nothing.

    A conflict says where its lines have moved to as long as `search` has something left.
    """
    search = search or Search()
    problem = _presence_problem(content, patch)
    if problem:
        return content, [Conflict(patch.patch, patch.path, None, problem)]
    lines = split_lines(content or b"")
    result: list[bytes] = []
    conflicts: list[Conflict] = []
    done = 0
    for hunk in patch.hunks:
        at = hunk.old_start - 1 if hunk.old else hunk.old_start
        conflict = _conflict(lines, at, hunk, patch, search)
        if conflict:
            conflicts.append(conflict)
            continue
        result += [*lines[done:at], *hunk.new]
        done = at + len(hunk.old)
    result += lines[done:]
    if patch.deletes and result and not conflicts:
        conflicts.append(Conflict(patch.patch, patch.path, None, f"is removed, but {len(result)} lines of it would be left"))
    return (None if patch.deletes else b"".join(result)), conflicts


def split_lines(content: bytes) -> list[bytes]:
    """Lines with their ends; only \\n ends a line."""
    lines = content.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _presence_problem(content: bytes | None, patch: FilePatch) -> str | None:
    if patch.creates:
        return "is to be made, but is there already" if content is not None else None
    from_nothing = len(patch.hunks) == 1 and patch.hunks[0].old_start == 0
    if content is None and not from_nothing:
        return "is not there"
    if not patch.hunks and content:
        return "is removed as an empty file, but isn't empty"
    return None


def _conflict(lines: Sequence[bytes], at: int, hunk: Hunk, patch: FilePatch, search: Search) -> Conflict | None:
    def conflict(problem: str, expected: bytes | None = None, found: bytes | None = None) -> Conflict:
        return Conflict(patch.patch, patch.path, hunk.number, problem, expected, found)

    for number, expected in enumerate(hunk.old, at):
        found = lines[number] if number < len(lines) else None
        if found != expected:
            if found is not None and found.rstrip(b"\r\n") == expected.rstrip(b"\r\n"):
                return conflict(f"line {number + 1} is another one in its line end", expected, found)
            return conflict(f"line {number + 1} is another one{_moved(lines, at, hunk.old, search)}", expected, found)
    if at > len(lines):
        return conflict(f"comes after line {at}, but the file has {len(lines)}")
    end = at + len(hunk.old)
    if not hunk.context_after and end < len(lines):
        text = "has no line of context after its change, so it must be the end of the file"
        return conflict(f"{text}, but line {end + 1} follows", b"", lines[end])
    if hunk.new and not hunk.new[-1].endswith(b"\n") and end < len(lines):
        return conflict("leaves a last line without a newline, but more lines follow", b"", lines[end])
    if at and not hunk.context_before and not hunk.old and not lines[at - 1].endswith(b"\n"):
        return conflict(f"comes after line {at}, which has no newline at its end")
    return None


def _moved(lines: Sequence[bytes], at: int, wanted: Sequence[bytes], search: Search) -> str:
    """What a person would find out next: the same lines elsewhere."""
    for distance in range(1, _SEARCHED):
        for place in (at + distance, at - distance):
            if 0 <= place <= len(lines) - len(wanted) and _stand_at(lines, place, wanted, search):
                way = "further down" if place > at else "further up"
                return f"; the hunk's lines stand {distance} lines {way}: the patch is for another version of this file"
        search.left -= 1  # a place outside of the file costs something too
        if search.left <= 0:
            break
    return ""


def _stand_at(lines: Sequence[bytes], place: int, wanted: Sequence[bytes], search: Search) -> bool:
    for number, line in enumerate(wanted, place):
        search.left -= 1
        if search.left < 0 or lines[number] != line:
            return False
    return True
