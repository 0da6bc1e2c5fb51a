"""The stored reports, one a unit and fingerprint: written by the passes, shown under /reports/<fingerprint>."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

_FOLDER = "reports"
_NAME = re.compile(r"[0-9a-f]{16}")
MOST_BYTES = 2 << 20


def folder(directory: Path, port: int) -> Path:
    """Where the reports of a unit lie."""
    return directory / _FOLDER / str(port)


def report_name(fingerprint: str, kind: str) -> str:
    """The file's name; `kind` is html or json. Raises ValueError for what isn't a fingerprint."""
    if not _NAME.fullmatch(fingerprint) or kind not in ("html", "json"):
        raise ValueError(f"not a fingerprint: {fingerprint[:40]!r}")
    return f"{fingerprint}.{kind}"


def read_report(directory: Path, fingerprint: str, kind: str = "html") -> bytes | None:
    """The newest report of this failure, of whatever unit; None without one. Raises ValueError, OSError."""
    name = report_name(fingerprint, kind)
    found = sorted((directory / _FOLDER).glob(f"*/{name}"), key=lambda path: path.stat().st_mtime_ns)
    for path in reversed(found):
        try:
            with path.open("rb") as file:
                return file.read(MOST_BYTES)
        except FileNotFoundError:  # a pass has just removed it
            continue
    return None


def forget_others(where: Path, kept: Collection[str]) -> None:
    """Remove from a unit's folder what isn't of these fingerprints. Raises OSError."""
    for path in where.iterdir() if where.is_dir() else ():
        if path.name.partition(".")[0] not in kept:
            path.unlink(missing_ok=True)
