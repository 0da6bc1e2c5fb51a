"""The files of a release against its files.json: by size, time of change and inode, so that 50,000 files take a moment.

Staging writes files.json last. The inode's own time (ctime) is no sign: another release's hard links change it.
"""

from __future__ import annotations

import os
from typing import Any

from .releases import read_object

LIST = "files.json"
MOST_NAMES = 20
# Secrets may change under the same release, and roots of such trees are not looked into.
_NOT_SEARCHED = ("credentials", "credentials.next")


def check(root: str, release: str) -> dict[str, Any] | None:
    """`{"listed": number, "changed"|"missing"|"added": names, "more": number}`; None for a release without the list.

    A damaged list is `{"problem": text}`. At most MOST_NAMES names each; `more` counts the others.
    """
    place = f"{root}/releases/{release}"
    if not os.path.lexists(f"{place}/{LIST}"):
        return None
    listing = read_object(f"{place}/{LIST}")
    if listing is None or not isinstance(listing.get("stat"), dict) or not isinstance(listing.get("links", {}), dict):
        return {"problem": f"{LIST} is damaged"}
    expected = {name: tuple(value) if isinstance(value, list) else value for name, value in listing["stat"].items()}
    expected.update(listing.get("links", {}))
    found = present(place)
    different = {
        "changed": sorted(name for name, value in found.items() if name in expected and expected[name] != value),
        "missing": sorted(expected.keys() - found.keys()),
        "added": sorted(name for name in found.keys() - expected.keys() if _matters(name)),
    }
    more = sum(max(0, len(names) - MOST_NAMES) for names in different.values())
    return {"listed": len(expected), "more": more, **{kind: names[:MOST_NAMES] for kind, names in different.items()}}


def _matters(name: str) -> bool:
    """Byte code that a run by hand leaves does no harm: Python checks it against its source."""
    return name != LIST and "__pycache__" not in name.split("/")


def present(place: str) -> dict[str, object]:
    """Every file below `place` by its relative path: (size, mtime in ns, inode), or the text of a symbolic link."""
    found: dict[str, object] = {}
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = list(os.scandir(f"{place}/{prefix}"))
        except OSError:
            continue  # its files are missing, then
        for entry in entries:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting += [] if name in _NOT_SEARCHED else [f"{name}/"]
            else:
                value = _value(entry)
                if value is not None:
                    found[name] = value
    return found


def _value(entry: os.DirEntry[str]) -> object:
    try:
        if entry.is_symlink():
            return os.readlink(entry.path)
        seen = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return seen.st_size, seen.st_mtime_ns, seen.st_ino
