"""Where in a container a value is: a path of keys, and what packing and unpacking do to it.

An empty path means the value itself, or something made of it: so unpacking it gives it again (`a.split(",")[0]`).
"""

from __future__ import annotations

from typing import Any

from ddtree_ops.runtime.extract.facts import ANY, UNKNOWN

Path = tuple[Any, ...]
NAME = "$"
"""The path's head where not the value flows but the name that it is looked up by (of an environment variable)."""
_DEPTH = 4


def unpacked(path: Path, key: Any) -> Path | None:
    """The path once a key was taken out; None if the value isn't there."""
    if not path:
        return None if key == NAME else path
    head = path[0]
    if NAME in (head, key):
        return path[1:] if head == key else path if key == ANY else None
    if isinstance(key, tuple):  # ("from", n): the rest of a sequence
        return (ANY, *path[1:]) if head == ANY or (isinstance(head, int) and head >= key[1]) else None
    if head == key or key is None or key == ANY:
        return path[1:]
    if head == ANY and isinstance(key, int):
        return path[1:]
    return None


def through(path: Path, taken: Path, put: Path) -> Path | None:
    """The path after keys were taken out, in this order, and the value was put into these (the outermost first)."""
    for key in taken:
        found = unpacked(path, key)
        if found is None:
            return None
        path = found
    return (*put, *path)[:_DEPTH]


__all__ = ["ANY", "NAME", "UNKNOWN", "Path", "through", "unpacked"]
