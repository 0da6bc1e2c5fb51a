"""Files and links that are on the disk, whole, before a call returns: a power cut leaves the old one or the new one."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any


def write(path: Path, text: str, mode: int = 0o644) -> bool:
    """Replace a file unless it holds this text with this mode already; whether it was written. Raises OSError."""
    with suppress(OSError):
        if path.read_text(encoding="utf-8") == text and path.stat().st_mode & 0o7777 == mode:
            return False
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
    return True


def link(path: Path, target: str) -> bool:
    """Make `path` a link to `target` by one rename; whether it changed. Raises OSError."""
    with suppress(OSError):
        if str(path.readlink()) == target:
            sync_directory(path.parent)  # a run that was cut off may have left it unsynced
            return False
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        temporary.unlink()
    temporary.symlink_to(target)
    temporary.replace(path)
    sync_directory(path.parent)
    return True


def remove(path: Path) -> bool:
    """Remove a file; whether there was one. Raises OSError."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    sync_directory(path.parent)
    return True


def read(path: Path) -> dict[str, Any] | None:
    """A JSON object, or None where there is none or it is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def sync_directory(path: Path) -> None:
    """fsync(2) of a directory: makes names in it durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
