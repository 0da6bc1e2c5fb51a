"""From the two names above a file's hunks to the one path below site-packages; whatever leads elsewhere is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

NOTHING = "/dev/null"
# The repository of SGLang keeps the package below python/: a diff made there means the installed package.
_REPOSITORY = ("python", "sglang")
_MOST_LETTERS = 1000


def target_path(old: str, new: str) -> str:
    """The path that both names mean: `a/x` and `b/x`, two directories' `x`, or the same name twice. Raises ValueError."""
    if old == NOTHING == new:
        raise ValueError("names no file on either side")
    if NOTHING in (old, new):
        name = new if old == NOTHING else old
        parts = _parts(name)
        parts = parts[1:] if parts[0] in ("a", "b") and len(parts) > 1 else parts
    elif old == new:
        parts = _parts(old)
    elif _parts(old)[1:] == _parts(new)[1:] != ():
        parts = _parts(old)[1:]
    else:
        raise ValueError(f"means two different files, {old[:_MOST_LETTERS]!r} and {new[:_MOST_LETTERS]!r}")
    if parts[:2] == _REPOSITORY:
        parts = parts[1:]
    _check_place(parts)
    return "/".join(parts)


def _parts(name: str) -> tuple[str, ...]:
    shown = repr(name[:_MOST_LETTERS])
    if name.startswith('"'):
        raise ValueError(f"has a quoted name {shown}; only plain names are supported")
    if not name or len(name) > _MOST_LETTERS or not name.isprintable():
        raise ValueError(f"has an unusable name {shown}")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts or not parts:
        raise ValueError(f"leaves the tree: {shown}")
    return parts


def _check_place(parts: tuple[str, ...]) -> None:
    if parts[0].endswith((".dist-info", ".egg-info")) or "__pycache__" in parts:
        raise ValueError(f"touches {'/'.join(parts)!r}, which belongs to the installer")


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
        wanted = stat.S_ISREG(mode) if number == len(parts) else stat.S_ISDIR(mode)
        if not wanted:
            raise ValueError(
                f"{path}: {place.relative_to(tree)} is no {'file' if number == len(parts) else 'directory'} of the tree"
            )
    return place
