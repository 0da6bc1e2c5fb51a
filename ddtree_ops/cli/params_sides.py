"""The two sides of `params diff`: a path, a version, or a release of a host."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ddtree_ops.cli.params_source import at, of_host
from ddtree_ops.errors import InvalidInventory, UsageError

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host
    from ddtree_ops.runtime.source.model import SourceTree

_VERSION = re.compile(r"\d+\.[\w.+!]{1,57}")


def tree_of(text: str, inventory: Path) -> SourceTree:
    """Raises UsageError for what is none of them, InvalidInventory, Unreachable, HostCommandFailed."""
    if _exists(text):
        return at(Path(text))
    if _VERSION.fullmatch(text):
        return _version(text)
    name, _, release = text.partition(":")
    return of_host(_host(text, name, inventory), release or None)


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # too long, or with a null byte
        return False


def _version(text: str) -> SourceTree:
    from ddtree_ops.runtime.source.known import recall, versions

    found = recall(text)
    if found is None:
        known = ", ".join(versions()) or "none"
        raise UsageError(
            f"the source of {text} was never read here", hint=f"name a wheel or a tree; versions known here: {known}"
        )
    return found


def _host(text: str, name: str, inventory: Path) -> Host:
    from ddtree_ops.cli import targets

    try:
        return targets.fleet(inventory).host(name)
    except InvalidInventory as error:
        if "/" in text or text.endswith((".whl", ".gz")):
            raise UsageError(
                f"no source at {text}", hint="give a folder with Python packages, a venv, a wheel or an sdist"
            ) from error
        raise
