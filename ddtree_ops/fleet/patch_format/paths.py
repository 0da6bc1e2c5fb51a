"""From the names above a file's hunks to the one path below site-packages; whatever leads elsewhere is refused.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

NOTHING = "/dev/null"
# The repository of SGLang keeps the package below python/: a diff made there means the installed package.
_REPOSITORY = ("python", "sglang")
_MOST_BYTES = 1000
# A file system takes 255; Python adds to a module's name for its compiled file.
_MOST_PART_BYTES = 200
_PREFIXES = ("a", "b")


def target_path(old: str, new: str, header: str | None = None) -> str:
    """The path that both names mean: `a/x` and `b/x`, two directories' `x`, or the same name twice.

    `header` are the two names of the `diff --git` line, if there is one. Raises ValueError.
    """
    if old == NOTHING == new:
        raise ValueError("names no file on either side")
    if NOTHING in (old, new):
        parts = _one_sided(old, new, header)
    elif old == new:
        parts = _parts(old)
    elif _parts(old)[1:] == _parts(new)[1:] != ():
        parts = _parts(old)[1:]
    else:
        raise ValueError(f"means two different files, {_shown(old)} and {_shown(new)}")
    if header is not None and NOTHING not in (old, new) and header != f"{old} {new}":
        raise ValueError(f"names (--- and +++) contradict git's header {_shown(header)}")
    if parts[:2] == _REPOSITORY:
        parts = parts[1:]
    _check_place(parts)
    return "/".join(parts)


def empty_file_path(header: str) -> str:
    """The path in a `diff --git` line that stands alone, for an empty file. Raises ValueError."""
    middle = len(header) // 2
    old, new = header[:middle], header[middle + 1 :]
    if header[middle : middle + 1] != " " or len(old) != len(new):
        raise ValueError(_unclear(header))
    return target_path(NOTHING, new, header)


def _one_sided(old: str, new: str, header: str | None) -> tuple[str, ...]:
    """A file that is made or removed has one name, in which a prefix can't be told from a directory; git's header has two.

    Only a/ and b/ are taken for prefixes. `git diff --no-prefix` gives the header one name twice; with --no-index that is
    the name in one of the two directories, here a and b.
    """
    name = new if old == NOTHING else old
    parts = _parts(name)
    has_prefix = parts[0] in _PREFIXES and len(parts) > 1
    if header is None:
        if has_prefix:
            return parts[1:]
        raise ValueError(_unclear(name))
    other = header.removesuffix(f" {name}") if old == NOTHING else header.removeprefix(f"{name} ")
    if other == header:
        raise ValueError(f"names {_shown(name)}, but git's header {_shown(header)}")
    if other == name:
        return parts[1:] if has_prefix else parts
    others = _parts(other)
    if others[1:] != parts[1:]:
        raise ValueError(f"means two different files, {_shown(other)} and {_shown(name)}")
    if not has_prefix or others[0] not in _PREFIXES:
        raise ValueError(_unclear(header))
    return parts[1:]


def _unclear(name: str) -> str:
    return f"has prefixes other than a/ and b/ in {_shown(name)}; make the diff with --src-prefix=a/ --dst-prefix=b/"


def _parts(name: str) -> tuple[str, ...]:
    if name.startswith('"'):
        raise ValueError(f"has a quoted name {_shown(name)}; only plain names are supported")
    if not name or not name.isprintable():
        raise ValueError(f"has an unusable name {_shown(name)}")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if len(name.encode()) > _MOST_BYTES or any(len(part.encode()) > _MOST_PART_BYTES for part in parts):
        limits = f"at most {_MOST_BYTES} bytes, {_MOST_PART_BYTES} between two slashes"
        raise ValueError(f"has too long a name {_shown(name)}; expected {limits}")
    if name.startswith("/") or ".." in parts or not parts:
        raise ValueError(f"leaves the tree: {_shown(name)}")
    return parts


def _check_place(parts: tuple[str, ...]) -> None:
    if parts[0].endswith((".dist-info", ".egg-info")) or "__pycache__" in parts:
        raise ValueError(f"touches {'/'.join(parts)!r}, which belongs to the installer")


def _shown(name: str) -> str:
    return repr(name if len(name) <= _MOST_BYTES else f"{name[:_MOST_BYTES]}...")
