"""A small JSON file of ours that is whole or absent, whatever the instant at which its writer is killed."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ddtree_ops.exporter import log
from ddtree_ops.units.systemctl import unit_name, unit_port

T = TypeVar("T")
KERNEL = "kernel.json"
FORMAT = 1  # of all our files; one of a version that counts otherwise is as good as damaged
_MOST_BYTES = 4 << 20
_MODE = 0o640


def of_unit(directory: Path, unit: str) -> Path:
    """Where the journal pass of a unit keeps what it knows. Raises ValueError for a unit that isn't a server of ours."""
    return directory / f"journal-{port_of(unit)}.json"


def port_of(unit: str) -> int:
    """The port of a server's unit. Raises ValueError for another unit."""
    port = unit_port(unit)
    if port is None or unit_name(port) != unit:
        raise ValueError(f"not a server's unit: {unit[:80]!r}")
    return port


def replace(path: Path, data: bytes, mode: int = _MODE) -> None:
    """Write a file in the place of the old one: a reader, or a reboot, sees the old or the new one, whole. Raises OSError.

    `mode` is the new file's, whatever the umask says.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_directory(path.parent)


def write(path: Path, data: Mapping[str, Any]) -> None:
    """The same for an object. Raises OSError."""
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)  # a full disk may have had no room for it
    replace(path, json.dumps({"format": FORMAT, **data}, separators=(",", ":")).encode())


def kept(path: Path, data: Mapping[str, Any]) -> str | None:
    """The same for what is known without the file, too: why it couldn't be written, None where it was."""
    try:
        write(path, data)
    except OSError as error:
        return f"{path.name} can't be written, so a restart would forget what was counted: {error.strerror or error}"
    return None


def read(path: Path) -> dict[str, Any] | None:
    """The object; None if there is no file.

    Raises ValueError where it is damaged or of another format, OSError where it can't be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{path.name} is larger than {_MOST_BYTES >> 20} MiB")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} holds no object")
    if found.get("format") != FORMAT:
        raise ValueError(f"{path.name} is of format {found.get('format')!r:.20}, not {FORMAT}")
    return found


def load(path: Path, parse: Callable[[dict[str, Any]], T], fresh: Callable[[float | None], T]) -> T:
    """What `parse` makes of the object. Raises OSError.

    Of none, `fresh`: it is given None, or the Unix time at which a file was written that can't be used and is set aside.
    """
    try:
        found = read(path)
        return fresh(None) if found is None else parse(found)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        written = path.stat().st_mtime
        aside = path.replace(path.with_name(f"{path.name}.aside"))  # a person may look at it
        log.line(f"{path.name} can't be used, and is {aside.name} now: {error!r:.300}")
        return fresh(written)


@contextmanager
def alone(path: Path) -> Iterator[bool]:
    """Whether nobody else is about to replace this file; nobody can be, within. Leftovers of killed ones go. Raises OSError."""
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for left in path.parent.glob(f".{path.name}.*"):
            left.unlink(missing_ok=True)
        is_alone = True
    except BlockingIOError:
        is_alone = False
    try:
        yield is_alone
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    """So that the new name outlives a power cut (fsync(2))."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
