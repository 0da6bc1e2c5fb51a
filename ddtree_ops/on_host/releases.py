"""What lies in /opt/ddtree: links, manifests, and what interrupted runs have left."""

from __future__ import annotations

import json
import os
import stat
import time
from typing import Any

MOST_BYTES = 256 << 20  # a list of 50,000 files has 12 MiB
LINKS = ("current", "last-good")
# Long lists that only a thorough check needs.
_LONG = ("records", "packages", "unowned")


def links(root: str) -> dict[str, str]:
    """Symbolic links in `root` to releases: {"current": "<id>"}."""
    found = {}
    for name in _names(root):
        try:
            found[name] = os.path.basename(os.readlink(f"{root}/{name}").rstrip("/"))  # pathlib costs 6 ms
        except OSError:
            continue
    return found


def not_links(root: str) -> dict[str, str]:
    """What lies where a link to a release belongs, and links that interrupted switches left: {"current": "a directory"}."""
    found = {}
    for name in _names(root):
        place = f"{root}/{name}"
        if name in LINKS and not os.path.islink(place):
            found[name] = "a directory" if os.path.isdir(place) else "a file"
        elif os.path.islink(place) and any(name.startswith(f".{link}.") for link in LINKS):
            found[name] = "left by an interrupted switch"
    return found


def manifests(root: str) -> dict[str, Any]:
    """Every directory of a release with its manifest.json; null where that is missing or damaged."""
    found: dict[str, Any] = {}
    for name in _names(f"{root}/releases"):
        place = f"{root}/releases/{name}"
        if not name.startswith(".") and os.path.isdir(place) and not os.path.islink(place):
            manifest = read_object(f"{place}/manifest.json")
            found[name] = {key: value for key, value in manifest.items() if key not in _LONG} if manifest else None
    return found


def port(manifest: Any) -> str | None:
    """The port that a release's server listens on, from the arguments in its manifest."""
    argv = manifest.get("argv") if isinstance(manifest, dict) else None
    if not isinstance(argv, list) or "--port" not in argv[:-1]:
        return None
    text = str(argv[argv.index("--port") + 1])
    return text if is_number(text) else None


def settings(root: str, release: str) -> dict[str, Any] | None:
    """server.json of a release."""
    return read_object(f"{root}/releases/{release}/server.json")


def leftovers(root: str) -> list[dict[str, Any]]:
    """Half-made or half-removed releases: hidden directories, with seconds since they were touched."""
    found = []
    for name in _names(f"{root}/releases"):
        place = f"{root}/releases/{name}"
        if name.startswith(".") and os.path.isdir(place):
            try:
                age = time.time() - os.lstat(place).st_mtime
            except OSError:
                continue
            found.append({"name": name, "age": round(max(0.0, age), 1)})
    return found


def read_object(path: str) -> dict[str, Any] | None:
    """A file with a JSON object; None when there is none, or it is damaged."""
    data = read_bytes(path, MOST_BYTES)
    if data is None:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_bytes(path: str, most: int) -> bytes | None:
    """The beginning of a regular file; None for anything else: a FIFO has no end, and opening some devices does something."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        # O_NONBLOCK: it may be another file by now.
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(number, "rb") as stream:
            return stream.read(most) if stat.S_ISREG(os.fstat(number).st_mode) else None
    except (OSError, ValueError):  # a NUL byte in the path
        return None


def is_number(text: str) -> bool:
    """A whole number that int() takes; str.isdigit() is also true of `²`, and int() refuses thousands of digits."""
    return text.isascii() and text.isdigit() and len(text) < 20


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []
