"""In which form a tree lies in a folder: a checkout, a venv, a package, or a folder of packages."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from ddtree_ops.runtime.source import choosing

_TEXT = 1 << 20
Found = tuple[Path, tuple[str, ...] | None]
"""A folder that names are relative to, and the packages in it that count (None: all that is there)."""


def find(path: Path) -> tuple[Found, ...]:
    """Where to read. Raises OSError."""
    site = _site_packages(path)
    if site is not None:
        return _installed(site)
    if (path / "python" / "sglang").is_dir():
        return ((path / "python", ("sglang",)),)
    for folder in (path, *path.parents):
        # The package itself, or a folder of it: names read from the package's top on.
        if folder.name in choosing.SERVING and (folder / "__init__.py").is_file():
            return ((folder.parent, (path.relative_to(folder.parent).as_posix(),)),)
    if next(path.glob("*.dist-info"), None) is not None:
        return _installed(path)
    return (_project(path) or (path, None),)


def _project(path: Path) -> Found | None:
    """The packages of a checkout, without what lies around them: examples, scripts, setup.py."""
    if not ((path / "pyproject.toml").is_file() or (path / "setup.py").is_file()):
        return None
    for base in (path / "src", path / "python", path):
        packages = tuple(sorted(each.parent.name for each in base.glob("*/__init__.py") if choosing.enters(each.parent.name)))
        serving = tuple(name for name in packages if name in choosing.SERVING)
        if packages:
            return base, serving or packages
    return None


def _site_packages(path: Path) -> Path | None:
    for venv in (path / "venv", path):
        if (venv / "pyvenv.cfg").is_file():
            return next(iter(sorted(venv.glob("lib/python3*/site-packages"))), None)
    return None


def _installed(site: Path) -> tuple[Found, ...]:
    """The serving packages of a site-packages, and what is installed there by a link to a checkout (`pip install -e`)."""
    found = set(choosing.SERVING)
    for listed in site.glob("*.dist-info/entry_points.txt"):
        found |= choosing.plugin_package(_text(listed))
    here = tuple(sorted(name for name in found if (site / name).is_dir() or (site / f"{name}.py").is_file()))
    missing = found - set(here)
    return ((site, here), *_elsewhere(site, missing))


def _elsewhere(site: Path, missing: set[str]) -> Iterator[Found]:
    """Editable installations name their checkout (PEP 610, direct_url.json)."""
    for listed in sorted(site.glob("*.dist-info/direct_url.json")):
        project = _editable(_text(listed))
        for base in (project / "src", project / "python", project) if project is not None else ():
            packages = tuple(sorted(name for name in missing if (base / name / "__init__.py").is_file()))
            if packages:
                missing = missing - set(packages)
                yield base, packages


def _editable(text: str) -> Path | None:
    try:
        said = json.loads(text)
        url = said["url"] if said["dir_info"]["editable"] is True else ""
        path = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), url.removeprefix("file://").encode())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Path(os.fsdecode(path)) if url.startswith("file:///") and b"\0" not in path else None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_TEXT).decode("utf-8", "replace")
    except OSError:
        return ""
