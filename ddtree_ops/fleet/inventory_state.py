"""Whether an inventory may have changed, without reading it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

_MOST_FILES = 50_000  # far above any inventory; a link to / must not keep a request waiting
_MOST_DEPTH = 12

_File = tuple[str, int, int, int, int]
State = tuple[_File, ...]


def inventory_state(inventory: Path) -> State:
    """Path, inode, size, times (ns) of every file below the inventory, of those that only appeared, too.

    Folders count as well: their own time moves when a file comes or goes. The time of the last change of status (inode(7)) moves
    with mode and owner, so that a file which has become readable is a change. Never raises: what can't be read isn't part of it.
    """
    if inventory.is_dir():
        roots: tuple[Path, ...] = (inventory,)
    else:
        roots = (inventory, inventory.parent / "group_vars", inventory.parent / "host_vars")
    found: list[_File] = []
    for root in roots:
        for one in _below(str(root), 0):
            found.append(one)
            if len(found) == _MOST_FILES:
                return tuple(found)
    return tuple(found)


def _below(path: str, depth: int) -> Iterator[_File]:
    try:
        about = os.stat(path)  # noqa: PTH116 - a thousand Path objects take longer than the calls
    except (OSError, ValueError):
        return
    yield path, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
    if stat.S_ISDIR(about.st_mode) and depth < _MOST_DEPTH:
        try:
            names = sorted(os.listdir(path))  # noqa: PTH208
        except OSError:
            return
        for name in names:
            if not name.startswith(".git"):
                yield from _below(f"{path}/{name}", depth + 1)
