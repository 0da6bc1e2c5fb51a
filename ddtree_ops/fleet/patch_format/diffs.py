"""Read unified diffs, plain (`diff -u`, `diff -urN`) and git's. Prose before them is skipped; anything unclear is refused.

Forms: GNU diffutils manual, "Detailed Description of Unified Format"; git-diff(1), "Generating patch text with -p". Refused:
renames, copies, binary patches, changes of mode, quoted names, whatever is announced but doesn't follow. Every step is linear
in the patch, and its size is bounded.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

from .git_header import GitHeader, read_git_header
from .hunks import Cursor, read_hunks, starts_file
from .model import BadPatch, FilePatch
from .paths import NOTHING, empty_file_path, target_path
from .surroundings import check_prose, ends_patch

MOST_BYTES = 16 * 2**20
MOST_LINES = 1_000_000
MOST_FILES = 2000
# diff -N gives a file that isn't there the time 0, in the local time zone.
_NEVER = ("1970-01-01 ", "1969-12-31 ")


def parse(name: str, content: bytes) -> tuple[FilePatch, ...]:
    """The files that a patch touches, in its order. Raises BadPatch."""
    if len(content) > MOST_BYTES:
        raise BadPatch(name, f"has {len(content)} bytes; expected at most {MOST_BYTES}")
    if content.count(b"\n") > MOST_LINES:
        raise BadPatch(name, f"has more than {MOST_LINES} lines")
    lines = content.split(b"\n")  # at \n alone: a carriage return is part of the line
    ends = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    files = _read(Cursor(name, ends))
    if not files:
        raise BadPatch(name, "holds no unified diff")
    return tuple(files)


def _read(cursor: Cursor) -> list[FilePatch]:
    found: list[FilePatch] = []
    in_prose = True
    while line := cursor.peek():
        if line.startswith(b"diff --git "):
            found.append(_read_git(cursor))
            in_prose = False
        elif starts_file(cursor) or _is_announcement(cursor):
            found.append(_read_plain(cursor))
            in_prose = False
        else:
            if line != b"\n":
                in_prose = in_prose or ends_patch(line)
                check_prose(cursor)
            if not in_prose and line.strip():
                raise cursor.bad("a line that belongs to no file's diff")
            cursor.at += 1
        if len(found) > MOST_FILES:
            raise BadPatch(cursor.name, f"touches more than {MOST_FILES} files")
    return found


def _is_announcement(cursor: Cursor) -> bool:
    """`diff -u a/x b/x`, which diff -r writes above each file, or `Index: x` of Subversion and CVS."""
    line = cursor.peek()
    if line.startswith(b"Index: "):
        return cursor.peek(1).startswith(b"=====")
    return line.startswith(b"diff -") and not line.startswith((b"diff --cc ", b"diff --combined "))


def _read_plain(cursor: Cursor) -> FilePatch:
    announced = cursor.at + 1
    while _is_announcement(cursor):
        cursor.at += 2 if cursor.peek().startswith(b"Index: ") else 1
    if not starts_file(cursor):
        check_prose(cursor)
        raise BadPatch(f"{cursor.name}:{announced}", "announces a file's diff, which doesn't follow")
    return _read_file(cursor, None)


def _read_git(cursor: Cursor) -> FilePatch:
    git = read_git_header(cursor)
    if starts_file(cursor):
        return _read_file(cursor, git)
    check_prose(cursor)
    where = f"{cursor.name}:{git.line}"
    if not git.empty:
        raise BadPatch(where, "announces a change (diff --git), but no lines of it follow")
    try:
        path = empty_file_path(git.names)
    except ValueError as error:
        raise BadPatch(where, str(error)) from None
    return FilePatch(cursor.name, git.line, path, (), git.creates, git.deletes, git.executable)


def _read_file(cursor: Cursor, git: GitHeader | None) -> FilePatch:
    line = cursor.at + 1
    old, _ = _name(cursor, cursor.peek())
    new, removed = _name(cursor, cursor.peek(1))
    try:
        path = target_path(old, new, git.names if git else None)
    except ValueError as error:
        raise cursor.bad(str(error)) from None
    cursor.at += 2
    hunks = read_hunks(cursor)
    creates, deletes = old == NOTHING, new == NOTHING or (removed and not hunks[0].new)
    if git is not None and (git.creates, git.deletes) != (creates, deletes):
        raise BadPatch(f"{cursor.name}:{line}", "the names (--- and +++) contradict git's header above them")
    if (creates and (len(hunks) > 1 or hunks[0].old)) or (deletes and (len(hunks) > 1 or hunks[0].new)):
        raise BadPatch(f"{cursor.name}:{line}", "a file that is made or removed must be so in one hunk")
    return FilePatch(cursor.name, line, path, hunks, creates, deletes, creates and git is not None and git.executable)


def _name(cursor: Cursor, line: bytes) -> tuple[str, bool]:
    """The name in a `---` or `+++` line, and whether the time behind it says that there is no such file."""
    name, _, time = line[4:].rstrip(b"\r\n").partition(b"\t")
    if name[:1] == name[-1:] == b'"' and b"\\" not in name:  # diff(1) quotes a name with blanks
        name = name[1:-1]
    try:
        return name.decode("utf-8"), time.decode("utf-8", errors="replace").startswith(_NEVER)
    except UnicodeDecodeError:
        raise cursor.bad("has a file name that isn't UTF-8") from None
