"""The files of a tree: read within bounds, and exchanged so that what can fail fails before the first one changes.

A file is replaced by a new one, never written in place: the old one is a hard link into uv's cache, which every other
release shares.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from importlib.util import cache_from_source
from pathlib import Path

_TEMPORARY = ".ddtree-patch-"


def place_in(tree: Path, path: str) -> Path:
    """Where the path is in a tree. Raises ValueError if a symbolic link or something other than a file is on the way."""
    place = tree
    parts = path.split("/")
    for number, part in enumerate(parts, 1):
        place = place / part
        try:
            mode = os.lstat(place).st_mode
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            raise ValueError(f"{path}: {place.parent.relative_to(tree)} is no directory") from None
        except OSError as error:
            raise ValueError(f"{path}: {error.strerror}") from None
        wanted = stat.S_ISREG(mode) if number == len(parts) else stat.S_ISDIR(mode)
        if not wanted:
            raise ValueError(
                f"{path}: {place.relative_to(tree)} is no {'file' if number == len(parts) else 'directory'} of the tree"
            )
    return place


def read_file(place: Path, most_bytes: int) -> bytes | None:
    """A regular file's bytes, links not followed; None if there is none. Raises ValueError saying what is wrong, OSError."""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("is no regular file")
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise ValueError(f"is larger than {most_bytes} bytes")
    return content


def one_below_another(paths: Mapping[str, bytes | None]) -> tuple[str, str] | None:
    """A file that will be there, and another that would have to lie in it as if it were a directory."""
    files = {path for path, content in paths.items() if content is not None}
    for path in sorted(files):
        parts = path.split("/")
        for count in range(1, len(parts)):
            if (above := "/".join(parts[:count])) in files:
                return above, path
    return None


def exchange(tree: Path, contents: Mapping[str, bytes | None], executable: set[str]) -> None:
    """Replace, make and remove (None) files, and forget what was compiled from them.

    All places are looked at, all contents written and all directories made first; what is left are renames. Raises
    ValueError, OSError.
    """
    places = {path: place_in(tree, path) for path in contents}
    with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=tree) as beside:
        new: dict[str, Path] = {}
        for number, (path, content) in enumerate(contents.items()):
            if content is not None:
                new[path] = Path(beside, str(number))
                _write(new[path], content, _mode(places[path], executable=path in executable))
        for path in new:
            places[path].parent.mkdir(parents=True, exist_ok=True)
        for place in places.values():
            if place.suffix == ".py":
                Path(cache_from_source(str(place))).unlink(missing_ok=True)
        for path, place in places.items():
            if path in new:
                new[path].replace(place)
            else:
                place.unlink(missing_ok=True)


def _mode(place: Path, *, executable: bool) -> int:
    return place.stat().st_mode & 0o777 if place.exists() else 0o755 if executable else 0o644


def _write(place: Path, content: bytes, mode: int) -> None:
    with place.open("xb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
