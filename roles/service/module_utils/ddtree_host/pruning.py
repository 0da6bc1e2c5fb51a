"""Remove old releases: never the current, the last good or what a process works in; what was half removed is finished first.

What staging has left is staging's own matter: it may still be written to, and only its lock tells.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from . import durable, lock, units
from .places import Places

_REMOVING = ".removing-"


def prune(places: Places, keep: int) -> tuple[str, ...]:
    """Keep `keep` releases besides the current and the last good one, those that were good before the others, newest first.

    Returns what was removed. A release that can't be removed is left for the next time.
    """
    for path in places.releases.glob(f"{_REMOVING}*"):
        _remove(path)
    spared = {places.linked("current"), places.linked("last-good")} | units.running_releases(places)
    others = [one for one in _newest_first(places) if one not in spared]
    removed = []
    for name in others[max(0, keep) :]:
        away = places.releases / f"{_REMOVING}{name}"
        with suppress(OSError):
            (places.releases / name).rename(away)  # half a release must never look like one
            durable.sync_directory(places.releases)
            removed.append(name)
            _remove(away)
    return tuple(removed)


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        with suppress(OSError):
            path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def _newest_first(places: Places) -> list[str]:
    """Releases with a manifest: those once committed, the latest commit first, then the others by their age."""
    found = []
    for path in places.releases.iterdir():
        is_release = not path.name.startswith(".") and path.is_dir() and not path.is_symlink()
        manifest = durable.read(path / "manifest.json") if is_release else None
        if manifest is not None:
            found.append((str(manifest.get("created", "")), path.name))
    ids = [name for _, name in sorted(found, reverse=True)]
    good = [name for name in committed(places) if name in ids]
    return [*good, *(name for name in ids if name not in good)]


def committed(places: Places) -> tuple[str, ...]:
    """Releases of the audit log's commits, the latest first."""
    found: dict[str, None] = {}
    for path in (places.audit, places.audit.with_name(f"{places.audit.name}.1")):
        for line in reversed((durable.read_text(path, "replace") or "").splitlines()):
            record = lock.parse(line) or {}
            if record.get("event") == "commit":
                found.setdefault(str(record.get("release")), None)
    return tuple(found)
