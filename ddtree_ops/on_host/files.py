"""The files of a release against its files.json: by size, time of change and inode, so that 50,000 files take a moment.

Staging writes files.json last. The inode's own time (ctime) is no sign: another release's hard links change it.
Owner and mode are in no list; they follow one rule: root's, changed by nobody else, and readable by the service user.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from .releases import read_object

LIST = "files.json"
MOST_NAMES = 20
OWNER = 0
# Secrets may change under the same release, and roots of such trees are not looked into.
_NOT_SEARCHED = ("credentials", "credentials.next", ".credentials.dropped")


def check(root: str, release: str) -> dict[str, Any] | None:
    """`{"listed": number, "changed"|"missing"|"added": names, "access": {name: what}, "more": number}`; None without the list.

    `access`: of files and directories with a wrong owner or mode, "0600 of user 65534"; what is above the release by its
    absolute path. A damaged list is `{"problem": text}`. At most MOST_NAMES names each; `more` counts the others.
    """
    place = f"{root}/releases/{release}"
    if not os.path.lexists(f"{place}/{LIST}"):
        return None
    listing = read_object(f"{place}/{LIST}")
    if listing is None or not isinstance(listing.get("stat"), dict) or not isinstance(listing.get("links", {}), dict):
        return {"problem": f"{LIST} is damaged"}
    expected = {name: tuple(value) if isinstance(value, list) else value for name, value in listing["stat"].items()}
    expected.update(listing.get("links", {}))
    found, access = present(place)
    access.update({path: told for path in (root, f"{root}/releases") if (told := _access(path))})
    different = {
        "changed": sorted(name for name, value in found.items() if name in expected and expected[name] != value),
        "missing": sorted(expected.keys() - found.keys()),
        "added": sorted(name for name in found.keys() - expected.keys() if _matters(name)),
    }
    more = sum(max(0, len(names) - MOST_NAMES) for names in (*different.values(), access))
    first: dict[str, Any] = {kind: names[:MOST_NAMES] for kind, names in different.items()}
    return {"listed": len(expected), "more": more, **first, "access": dict(sorted(access.items())[:MOST_NAMES])}


def _matters(name: str) -> bool:
    """Byte code that a run by hand leaves does no harm: Python checks it against its source."""
    return name != LIST and "__pycache__" not in name.split("/")


def present(place: str) -> tuple[dict[str, object], dict[str, str]]:
    """Every file below `place` by its relative path: (size, mtime in ns, inode), or the text of a symbolic link.

    And what has a wrong owner or mode, `place` itself (".") included.
    """
    found: dict[str, object] = {}
    told = _access(place)
    access = {".": told} if told else {}
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = list(os.scandir(f"{place}/{prefix}"))
        except OSError:
            continue  # its files are missing, then
        for entry in entries:
            name = prefix + entry.name
            if name in _NOT_SEARCHED:
                continue
            try:
                if entry.is_symlink():
                    found[name] = os.readlink(entry.path)
                    continue
                seen = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(seen.st_mode):
                waiting.append(f"{name}/")
            else:
                found[name] = (seen.st_size, seen.st_mtime_ns, seen.st_ino)
            if is_wrong(seen, readable=_matters(name)):
                access[name] = _words(seen)
    return found, access


def is_wrong(seen: os.stat_result, *, readable: bool = True) -> bool:
    """Whether owner or mode aren't a release's: root's, writable by root alone, no set-uid; `readable` by every user.

    The staging role's drift.py has the same rule.
    """
    mode = seen.st_mode
    if seen.st_uid != OWNER or mode & 0o022:
        return True
    if stat.S_ISDIR(mode):
        return readable and mode & 0o005 != 0o005
    if mode & 0o6000:
        return True
    wanted = 0o005 if mode & 0o100 else 0o004
    return readable and mode & wanted != wanted


def _access(path: str) -> str | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return _words(seen) if is_wrong(seen) else None


def _words(seen: os.stat_result) -> str:
    return f"{stat.S_IMODE(seen.st_mode):04o} of user {seen.st_uid}"
