"""Counters of servers that are gone: kept for a month, because a server that comes back counts on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from ddtree_ops.exporter.journal import reports

KEPT_SECONDS = 30 * 86400.0
#: Between two looks.
PERIOD_SECONDS = 6 * 3600.0
_OURS = re.compile(r"journal-(\d{1,5})\.(?:json(?:\.aside)?|lock)")


def forget(directory: Path, ports: Collection[int], now: float) -> None:
    """Remove what passes wrote of other ports and not for a month; `now` is Unix time. Raises OSError."""
    written: dict[int, float] = {}
    files: dict[int, list[Path]] = {}
    for path in directory.iterdir():
        found = _OURS.fullmatch(path.name)
        if found is not None and (port := int(found[1])) not in ports:
            files.setdefault(port, []).append(path)
            written[port] = max(written.get(port, 0.0), path.stat().st_mtime)
    for port, newest in written.items():
        if now - newest > KEPT_SECONDS:
            for path in files[port]:
                path.unlink(missing_ok=True)
            shutil.rmtree(reports.folder(directory, port), ignore_errors=True)
