"""Read unified diffs, plain (`diff -u`, `diff -urN`) and git's. Text around them is skipped; anything unclear is refused.

Forms: GNU diffutils manual, "Detailed Description of Unified Format"; git-diff(1), "Generating patch text with -p". Refused:
renames, copies, binary patches, changes of mode, quoted names. Every step is linear in the patch, and its size is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass

from .hunks import Cursor, is_hunk, read_hunks
from .model import BadPatch, FilePatch
from .paths import NOTHING, target_path

MOST_BYTES = 16 * 2**20
MOST_FILES = 2000
_REFUSED = {
    b"rename from ": "renames a file; make the diff with --no-renames",
    b"copy from ": "copies a file; make the diff without --find-copies",
    b"GIT binary patch": "changes a binary file, which can't be checked by its lines",
    b"Binary files ": "changes a binary file, which can't be checked by its lines",
    b"old mode ": "changes a file's mode, which isn't supported",
}
# diff -N gives a file that isn't there the time 0, in the local time zone.
_NEVER = ("1970-01-01 ", "1969-12-31 ")


@dataclass
class _GitHeader:
    """What stands between `diff --git` and the hunks, or in place of them for an empty file."""

    line: int
    names: bytes
    creates: bool = False
    deletes: bool = False
    executable: bool = False


def parse(name: str, content: bytes) -> tuple[FilePatch, ...]:
    """The files that a patch touches, in its order. Raises BadPatch."""
    if len(content) > MOST_BYTES:
        raise BadPatch(name, f"has {len(content)} bytes; expected at most {MOST_BYTES}")
    lines = content.split(b"\n")  # at \n alone: a carriage return is part of the line
    ends = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    files = _read(Cursor(name, ends))
    if not files:
        raise BadPatch(name, "holds no unified diff")
    return tuple(files)


def _read(cursor: Cursor) -> list[FilePatch]:
    found: list[FilePatch] = []
    git: _GitHeader | None = None
    while line := cursor.peek():
        if line.startswith(b"--- ") and cursor.peek(1).startswith(b"+++ "):
            found.append(_read_file(cursor, git))
            git = None
        elif is_hunk(line):
            raise cursor.bad("a hunk without the names of its file (--- and +++) above it")
        else:
            if line.startswith(b"diff --git "):
                found += _empty_file(cursor, git)
                git = _GitHeader(cursor.at + 1, line[len(b"diff --git ") :].rstrip(b"\r\n"))
            elif git is not None or line.startswith(b"Binary files "):
                _read_git_line(cursor, git, line)
            cursor.at += 1
        if len(found) > MOST_FILES:
            raise BadPatch(cursor.name, f"touches more than {MOST_FILES} files")
    return found + _empty_file(cursor, git)


def _read_git_line(cursor: Cursor, git: _GitHeader | None, line: bytes) -> None:
    for start, problem in _REFUSED.items():
        if line.startswith(start):
            raise cursor.bad(problem)
    if git is not None and line.startswith((b"new file mode ", b"deleted file mode ")):
        git.creates, git.deletes = line.startswith(b"new"), line.startswith(b"deleted")
        mode = line.split()[-1]
        if mode not in (b"100644", b"100755"):
            raise cursor.bad("makes or removes something that is no plain file (a link or a submodule)")
        git.executable = mode == b"100755"


def _read_file(cursor: Cursor, git: _GitHeader | None) -> FilePatch:
    line = cursor.at + 1
    old, _ = _name(cursor, cursor.peek())
    new, removed = _name(cursor, cursor.peek(1))
    try:
        path = target_path(old, new)
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


def _empty_file(cursor: Cursor, git: _GitHeader | None) -> list[FilePatch]:
    """An empty file that git makes or removes has no hunks, only its header: `a/NAME b/NAME`."""
    if git is None or not (git.creates or git.deletes):
        return []
    where = f"{cursor.name}:{git.line}"
    middle = len(git.names) // 2
    try:
        old, new = (part.decode("utf-8") for part in (git.names[:middle], git.names[middle + 1 :]))
        path = target_path(old, NOTHING)
        if target_path(NOTHING, new) != path or git.names[middle : middle + 1] != b" ":
            raise ValueError("names two files")
    except ValueError as error:
        raise BadPatch(where, str(error)) from None
    return [FilePatch(cursor.name, git.line, path, (), git.creates, git.deletes, git.executable)]
