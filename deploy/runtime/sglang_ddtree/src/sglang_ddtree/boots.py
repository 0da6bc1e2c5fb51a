"""The boot history of one port: `$STATE_DIRECTORY/<port>.jsonl`, one line per finished boot, the newest last."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .eta import Boot, read_history

_KEPT = 50
_READABLE = 0o644  # the unit's umask hides files from other users; this one holds no secret, and the exporter reads it


def history_file(port: int, environment: Mapping[str, str]) -> Path | None:
    """Where this unit keeps its history; None without StateDirectory= (a start by hand)."""
    directory = environment.get("STATE_DIRECTORY", "").split(":")[0]
    return Path(directory) / f"{port}.jsonl" if directory else None


def read(path: Path | None) -> tuple[Boot, ...]:
    """The history; empty if there is none yet or it can't be read."""
    if path is None:
        return ()
    try:
        return read_history(path.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return ()


def append(path: Path, boot: Boot) -> None:
    """Add a record, forget the oldest beyond 50. A power cut leaves the old file or the new one. Raises OSError."""
    kept = (*read(path), boot)[-_KEPT:]
    text = "".join(entry.to_json() + "\n" for entry in kept)
    write_durably(path, text, mode=_READABLE)


def write_durably(path: Path, text: str, mode: int | None = None) -> None:
    """Replace a file atomically, with its content and its name on disk before this returns. Raises OSError.

    `mode`: its permissions, whatever the umask; None leaves them to that.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
