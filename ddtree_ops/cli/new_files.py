"""Write several new files so that all are there or none is, and nothing that was there is touched."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ddtree_ops.errors import UsageError


def write_new(folder: Path, files: Mapping[str, str]) -> None:
    """Texts by path below `folder`, which is made if need be. Raises UsageError.

    They are written beside it (or in it, if it is there already) and then put in their places.
    """
    try:
        taken = [str(folder / name) for name in files if (folder / name).exists()]
        if taken:
            raise UsageError(f"{', '.join(taken)} exists already", hint="choose another --output, or edit what is there")
        above = folder if folder.exists() else folder.parent
        above.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=above, prefix=".ddtree-ops-") as name:
            written = Path(name) / "new"
            _write(written, files)
            if above == folder:
                _put(written, folder, files)
            else:
                written.rename(folder)
    except (OSError, ValueError) as error:  # ValueError: no such path, or a text that isn't Unicode
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"can't write {str(folder)!r}: {reason}", hint="choose another --output") from error


def _write(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _put(written: Path, folder: Path, names: Mapping[str, str]) -> None:
    made: list[Path] = []
    try:
        for name in names:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.hardlink_to(written / name)  # unlike a rename it never replaces
            made.append(path)
    except BaseException:
        for path in made:
            with suppress(OSError):
                path.unlink()
        raise
