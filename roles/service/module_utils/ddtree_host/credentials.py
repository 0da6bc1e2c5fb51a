"""Each release's own credentials, for its unit's LoadCredential=: 0400, root's, each written by one rename.

What the current release loads at its next start stays as it is: other values for it wait in `credentials.next` until it is
switched to again. So neither a new key nor a run that was cut off spoils the running server or the way back.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from . import durable
from .places import Places


def own(release: Path) -> Path:
    return release / "credentials"


def waiting(release: Path) -> Path:
    return release / "credentials.next"


def put(places: Places, name: str, values: Mapping[str, str], *, dry: bool = False) -> bool:
    """Give a staged release exactly these; whether anything changed (`dry`: would change). Raises OSError."""
    release = places.releases / name
    if places.linked("current") != name or not own(release).is_dir():
        return _differs(own(release), values) if dry else _write(own(release), values)
    if _differs(own(release), values):
        return _differs(waiting(release), values) if dry else _write(waiting(release), values)
    there = waiting(release).is_dir()
    if there and not dry:
        _drop(release)
    return there


def take(release: Path, *, wanted: bool) -> bool:
    """Take what waits, or drop it: whether something waited. Raises OSError.

    Of a release that isn't current they are what a deploy left that never got here: a way back must bring back what served.
    """
    if not waiting(release).is_dir():
        return False
    if wanted:
        _write(own(release), _read(waiting(release)) or {})
    _drop(release)
    return True


def _drop(release: Path) -> None:
    """By one rename, so that half of them never look like all."""
    dropped = release / ".credentials.dropped"
    shutil.rmtree(dropped, ignore_errors=True)
    waiting(release).rename(dropped)
    shutil.rmtree(dropped)
    durable.sync_directory(release)


def _write(folder: Path, values: Mapping[str, str]) -> bool:
    """A folder that appears with all of them, or one that gets them file by file: a start in between finds each one."""
    if not folder.is_dir():
        made = folder.with_name(f".{folder.name}.new")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(mode=0o700)
        _fill(made, values)
        made.rename(folder)
        durable.sync_directory(folder.parent)
        return True
    return _fill(folder, values)


def _fill(folder: Path, values: Mapping[str, str]) -> bool:
    folder.chmod(0o700)
    changed = False
    for name, value in sorted(values.items()):
        changed |= durable.write(folder / name, value, 0o400)
    for path in folder.iterdir():
        if path.name not in values:
            changed |= durable.remove(path)
    return changed


def _differs(folder: Path, values: Mapping[str, str]) -> bool:
    return _read(folder) != dict(values)


def _read(folder: Path) -> dict[str, str] | None:
    """None where there is no folder, or what is in it is no text."""
    with suppress(OSError):
        found = {path.name: durable.read_text(path) for path in folder.iterdir()}
        return None if None in found.values() else {name: text for name, text in found.items() if text is not None}
    return None
