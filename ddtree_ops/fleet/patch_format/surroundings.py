"""What may stand before, between and after the sections of a patch: prose that can't be taken for a part of a diff.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

import re

from .hunks import SIGNATURE, Cursor, is_hunk

_COMBINED = "a combined diff (of a merge); make it against one of the parents"
_CONTEXT = "a context diff; make it with diff -u"
_BINARY = "changes a binary file, which can't be checked by its lines"
_NOT_READ = {
    b"diff --cc ": _COMBINED,
    b"diff --combined ": _COMBINED,
    b"@@@ ": _COMBINED,
    b"***************": _CONTEXT,
    b"GIT binary patch": _BINARY,
    b"Binary files ": _BINARY,
    b"--- ": "names a file (---), but no line +++ follows",
    b"+++ ": "names a file (+++), but no line --- stands before it",
}
_NOT_READ_STARTS = tuple(_NOT_READ)
# diff -r of a file that one side lacks, and of files that it doesn't compare by lines
_ONE_SIDE = re.compile(rb"Only in [^\n]{1,2000}: ")
_ONLY_SAID = re.compile(rb"Files? [^\n]{1,4000} (?:differ\r?$|while file )", re.MULTILINE)
_NORMAL = re.compile(rb"\d{1,9}(?:,\d{1,9})?[acd]\d{1,9}(?:,\d{1,9})?\r?\n")
# An indented or quoted diff, as in a mail or in `git log`.
_QUOTES = b" \t>|"
# git format-patch --stdout writes one mail after the other.
_MAIL = re.compile(rb"From [0-9a-f]{4,64} ")


def ends_patch(line: bytes) -> bool:
    """Whether prose may follow from here on."""
    return line.rstrip(b"\r\n") in SIGNATURE or _MAIL.match(line) is not None


def check_prose(cursor: Cursor) -> None:
    """Refuse the line that comes if it looks like a part of a diff. Raises BadPatch."""
    line = cursor.peek()
    if line.startswith(_NOT_READ_STARTS):
        raise cursor.bad(next(problem for start, problem in _NOT_READ.items() if line.startswith(start)))
    if line.startswith(b"*** ") and cursor.peek(1).startswith(b"--- "):
        raise cursor.bad(_CONTEXT)
    if is_hunk(line):
        raise cursor.bad("a hunk without the names of its file (--- and +++) above it")
    if _ONE_SIDE.match(line):
        raise cursor.bad("names a file that only one side has; make the diff with diff -N")
    if _ONLY_SAID.match(line):
        raise cursor.bad("says that files differ, but not how")
    if _NORMAL.match(line) and cursor.peek(1).startswith((b"< ", b"> ")):
        raise cursor.bad("a diff without names and context; make it with diff -u")
    if line[:1] in (b" ", b"\t", b">", b"|"):
        _check_indented(cursor)


def _check_indented(cursor: Cursor) -> None:
    line, following = cursor.peek().lstrip(_QUOTES), cursor.peek(1).lstrip(_QUOTES)
    names = line.startswith(b"--- ") and following.startswith(b"+++ ")
    if names or is_hunk(line) or line.startswith((b"diff --git ", b"diff --cc ")):
        raise cursor.bad("an indented or quoted diff; take the blanks before it away")
