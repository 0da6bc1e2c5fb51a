"""Files and links that are on the disk, whole, before a call returns: a power cut leaves the old one or the new one."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import lock

MOST_BYTES = 64 * 1024 * 1024  # a manifest that lists 50,000 files has 12 MiB


def write(path: Path, text: str, mode: int = 0o644) -> bool:
    """Replace a file unless it holds this text with this mode already; whether it was written. Raises OSError."""
    with suppress(OSError):
        if read_text(path) == text and path.stat().st_mode & 0o7777 == mode:
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
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # write(2) and fsync(2) of a full disk
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    sync_directory(path.parent)
    return True


def link(path: Path, target: str) -> bool:
    """Make `path` a link to `target` by one rename; whether it changed. A directory there is put aside. Raises OSError."""
    for left in path.parent.glob(f".{path.name}.*"):
        if left.is_symlink() and left.suffix[1:].isdecimal():  # of a run that was cut off
            left.unlink()
    with suppress(OSError):
        if str(path.readlink()) == target:
            sync_directory(path.parent)  # a run that was cut off may have left it unsynced
            return False
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.symlink_to(target)
    try:
        put_aside(path)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)
    return True


def put_aside(path: Path) -> Path | None:
    """Rename a directory that lies where a link belongs; where it is now, None if there was none. Raises OSError."""
    if path.is_symlink() or not path.is_dir():
        return None
    number = 1
    while os.path.lexists(aside := path.with_name(f".replaced-{path.name}-{number}")):
        number += 1
    return path.rename(aside)


def remove(path: Path) -> bool:
    """Remove a file; whether there was one. Raises OSError."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    sync_directory(path.parent)
    return True


def set_aside(path: Path) -> None:
    """Keep what is damaged, whatever it is, under another name: the last one alone. Raises OSError."""
    aside = path.with_name(f"{path.name}.damaged")
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside)
    aside.unlink(missing_ok=True)
    path.rename(aside)
    sync_directory(path.parent)


def read(path: Path) -> dict[str, Any] | None:
    """A JSON object, or None where there is none or it is damaged."""
    text = read_text(path)
    return None if text is None else lock.parse(text)


def read_text(path: Path, errors: str = "strict") -> str | None:
    """A regular file's text, or None where there is none, it is longer than any of ours, or (unless `errors`) no UTF-8."""
    try:
        with os.fdopen(lock.open_regular(str(path), os.O_RDONLY), "rb") as file:
            data = file.read(MOST_BYTES + 1)
        return data.decode("utf-8", errors) if len(data) <= MOST_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None


def sync_directory(path: Path) -> None:
    """fsync(2) of a directory: makes names in it durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
