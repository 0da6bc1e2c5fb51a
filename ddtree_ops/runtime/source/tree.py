"""Open a source tree, in whatever form it lies there."""

from __future__ import annotations

from pathlib import Path

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime.source import archives, folders
from ddtree_ops.runtime.source.model import MOST_FILES, SourceTree


def open_tree(path: Path) -> SourceTree:
    """The source at a path: a checkout, a folder of packages, a package, a venv, a release's directory, a wheel or an sdist.

    Of a venv only the serving packages are taken (SGLang, vLLM, and what plugs into them). Tests, other servers of the same
    distribution, hidden folders and symbolic links are left out. Raises UsageError, which names the path.
    """
    try:
        found = _read(path)
    except OSError as error:
        raise UsageError(
            f"can't read {error.filename or path}: {error.strerror or error}", hint="check its permissions"
        ) from error
    if found is None:
        raise UsageError(f"no source at {path}", hint="give a folder with Python packages, a venv, a wheel or an sdist")
    if not found.files:
        raise UsageError(f"no Python source in {path}", hint="give the folder that holds the package, such as site-packages")
    if len(found.files) > MOST_FILES:
        raise UsageError(f"{path} has more than {MOST_FILES} Python files", hint="name the package's folder instead")
    return found


def _read(path: Path) -> SourceTree | None:
    if path.is_dir():
        return folders.read(path)
    if path.is_file():
        return archives.read(path)
    return None
