"""The installed lines around a failure's own frames. Pure: the caller reads files, and says whether they are the release's.

A frame's file name is log text. `wanted_files` gives only absolute names of Python files without `..`; a caller that reads
on a host should allow nothing outside the release and its virtual environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum

from ddtree_ops.triage.block import Frame, ParsedException
from ddtree_ops.triage.model import Event, Failure

#: The kind of the event that says that a file isn't what ran.
SOURCE_DIFFERS = "source_differs"
AROUND = 4
FRAMES = 40  # windows in one exception, innermost first
FILES = 24  # files read for one failure
_SIZE_LIMIT = 4 << 20  # bytes of a file that is still read as source
_LINE_LIMIT = 400  # characters of a line
_MARKS = ("/site-packages/", "/dist-packages/")


class Installed(StrEnum):
    """Whether a file is what the release's manifest says (by the RECORD hashes that it covers)."""

    MATCHES = "matches"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


Read = Callable[[str], bytes | None]
Check = Callable[[str], Installed]


def wanted_files(failure: Failure) -> tuple[str, ...]:
    """The files to read for a failure's windows, each once, the raising frame's first: a caller over SSH gets them in one go."""
    names = (frame.file for exception in reversed(failure.exceptions) for frame in reversed(_chosen(exception)))
    return tuple(dict.fromkeys(names))[:FILES]


def candidates(file: str) -> Iterator[str]:
    """Relative paths under which a source tree may hold a frame's file, the most telling first.

    `/opt/venv/lib/python3.12/site-packages/sglang/a/b.py`: `sglang/a/b.py`, `a/b.py`, never outside the tree. A name without
    such a mark gives its tails down to two parts: a tree of a repository starts anywhere in an installed path.
    """
    for mark in _MARKS:
        file = file.rpartition(mark)[2]
    parts = [part for part in file.split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        return
    shortest = min(len(parts), 2)
    for start in range(len(parts) - shortest + 1):
        yield "/".join(parts[start:])


def window(content: bytes, line: int, around: int = AROUND) -> tuple[str, ...] | None:
    """Lines `line - around` to `line + around` of a file (counted from 1), numbered, the one in the middle marked with `>`.

    None if the file has no such line or is no source text.
    """
    if len(content) > _SIZE_LIMIT or b"\0" in content:
        return None
    lines = content.decode("utf-8-sig", "replace").splitlines()
    if not 1 <= line <= len(lines):
        return None
    first, last = max(1, line - around), min(len(lines), line + around)
    width = len(str(last))
    return tuple(
        f"{'>' if number == line else ' '} {number:>{width}} | {lines[number - 1][:_LINE_LIMIT]}".rstrip()
        for number in range(first, last + 1)
    )


def with_source(failure: Failure, read: Read, check: Check | None = None) -> tuple[Failure, tuple[Event, ...]]:
    """The failure with windows in its frames, and an event (kind `source_differs`) for each file that isn't what ran.

    `read` gives a file's bytes or None; `check` what the release's manifest says of it. Each is called once per file.
    """
    contents = {file: read(file) for file in wanted_files(failure)}
    if not any(contents.values()):
        return failure, ()
    exceptions = tuple(_with_windows(item, contents) for item in failure.exceptions)
    told = tuple(_differences(exceptions, contents, check))
    return replace(failure, exceptions=exceptions), told


def _chosen(exception: ParsedException) -> tuple[Frame, ...]:
    own = [frame for frame in exception.frames if frame.in_app and frame.line is not None and _is_python(frame.file)]
    return tuple(own[-FRAMES:])


def _is_python(file: str) -> bool:
    return file.startswith("/") and file.endswith(".py") and ".." not in file.split("/") and file.isprintable()


def _with_windows(exception: ParsedException, contents: dict[str, bytes | None]) -> ParsedException:
    chosen = set(_chosen(exception))
    frames = tuple(_with_window(frame, contents.get(frame.file)) if frame in chosen else frame for frame in exception.frames)
    return replace(exception, frames=frames)


def _with_window(frame: Frame, content: bytes | None) -> Frame:
    if not content or frame.line is None:
        return frame
    return replace(frame, source=window(content, frame.line))


def _differences(
    exceptions: tuple[ParsedException, ...], contents: dict[str, bytes | None], check: Check | None
) -> Iterator[Event]:
    for file, content in contents.items():
        if content is None:
            continue
        if check is not None and check(file) is Installed.DIFFERS:
            yield Event(None, SOURCE_DIFFERS, f"{file} is not the file that the release installed: its hash differs from RECORD")
            continue
        moved = next((frame for item in exceptions for frame in item.frames if frame.file == file and _moved(frame)), None)
        if moved:
            text = f"{file} has changed since: line {moved.line} is no longer the code that the traceback shows"
            yield Event(None, SOURCE_DIFFERS, text)


def _moved(frame: Frame) -> bool:
    """The marked line isn't the traceback's code; Python shows a statement's first line, without indentation."""
    if not frame.source or not frame.code:
        return False
    marked = next((line for line in frame.source if line.startswith(">")), "")
    return frame.code.split("\n", 1)[0].strip()[:_LINE_LIMIT] not in marked
