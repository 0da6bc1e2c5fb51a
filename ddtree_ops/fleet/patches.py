"""Patches of a release: unified diffs on the controller, which the host applies to the staged site-packages.

They are read here by the host's own parser, so that a patch that can't be used is refused before anything changes. Whether it
fits is seen where the files are.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ddtree_ops import assets
from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.regular_file import read_regular

_HOW = "make it with git diff --no-renames, or diff -urN"


@dataclass(frozen=True)
class Patch:
    """One patch: its file name, its sha256 and its bytes (line ends matter)."""

    name: str
    sha256: str
    content: bytes

    def for_role(self) -> dict[str, str]:
        """As the role takes it; base64, since Ansible would evaluate braces in a text."""
        return {"name": self.name, "sha256": self.sha256, "content": base64.b64encode(self.content).decode("ascii")}


def read_patches(paths: Iterable[str], folder: Path, host: str) -> tuple[Patch, ...]:
    """Read `runtime.patches` of a host; relative paths count from the inventory's directory. Raises InvalidInventory."""
    return tuple(_read(controller_path(path, folder), f"{host}: runtime.patches") for path in paths)


def controller_path(path: str, folder: Path) -> Path:
    """A path of the spec on this machine: absolute, `{project}/...`, or relative to the inventory's directory."""
    return folder / assets.expand(path)


def _read(path: Path, key: str) -> Patch:
    from ddtree_ops.fleet.patch_format import diffs, model  # noqa: PLC0415 - 6 ms that a release without patches doesn't need

    content = read_regular(path, diffs.MOST_BYTES, key=key)
    try:
        diffs.parse(str(path), content)
    except model.BadPatch as error:
        raise InvalidInventory(f"{key}: {error}", hint=_HOW) from error
    # It becomes a file on the host.
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", path.name)[:100]
    return Patch(name, hashlib.sha256(content).hexdigest(), content)
