"""What git writes between `diff --git` and the hunks of a file, or in place of them for an empty file.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .hunks import Cursor

_START = b"diff --git "
_RENAMES = "renames a file; make the diff with --no-renames"
_COPIES = "copies a file; make the diff without --find-copies"
_MODE = "changes a file's mode, which isn't supported"
_REFUSED = {
    b"rename from ": _RENAMES,
    b"rename to ": _RENAMES,
    b"copy from ": _COPIES,
    b"copy to ": _COPIES,
    b"old mode ": _MODE,
    b"new mode ": _MODE,
}
_PRESENCE = (b"new file mode ", b"deleted file mode ")
_OTHERS = (b"similarity index ", b"dissimilarity index ")
_INDEX = re.compile(rb"index ([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})\r?\n")
# git's object names of no bytes, by SHA-1 and by SHA-256: `git hash-object /dev/null`
_EMPTY_BLOBS = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


@dataclass
class GitHeader:
    """`names` are both names of the first line. `empty`: the file that is made or removed is said to have no bytes."""

    line: int
    names: str
    creates: bool = False
    deletes: bool = False
    executable: bool = False
    empty: bool = False


def read_git_header(cursor: Cursor) -> GitHeader:
    """Read from `diff --git` up to what isn't of the header any more. Raises BadPatch."""
    try:
        header = GitHeader(cursor.at + 1, cursor.peek()[len(_START) :].rstrip(b"\r\n").decode("utf-8"))
    except UnicodeDecodeError:
        raise cursor.bad("has a file name that isn't UTF-8") from None
    cursor.at += 1
    while _read_line(cursor, header):
        cursor.at += 1
    return header


def _read_line(cursor: Cursor, header: GitHeader) -> bool:
    line = cursor.peek()
    for start, problem in _REFUSED.items():
        if line.startswith(start):
            raise cursor.bad(problem)
    if line.startswith(_PRESENCE):
        header.creates, header.deletes = line.startswith(b"new"), line.startswith(b"deleted")
        mode = line.split()[-1]
        if mode not in (b"100644", b"100755"):
            raise cursor.bad("makes or removes something that is no plain file (a link or a submodule)")
        header.executable = mode == b"100755"
    elif line.startswith(b"index "):
        header.empty = _says_empty(line, header)
    elif not line.startswith(_OTHERS):
        return False
    return True


def _says_empty(line: bytes, header: GitHeader) -> bool:
    match = _INDEX.fullmatch(line)
    if match is None or header.creates == header.deletes:
        return False
    before, after = match.groups()
    blob, nothing = (after, before) if header.creates else (before, after)
    return not nothing.strip(b"0") and any(empty.startswith(blob) for empty in _EMPTY_BLOBS)
