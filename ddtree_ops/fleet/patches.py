"""Patches of a release: unified diffs on the controller, which the host applies to the staged site-packages.

Only whether it is a diff at all is seen here; whether it fits is seen where the files are.
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

# As the host's own limit.
MOST_BYTES = 16 * 2**20
_DIFF = re.compile(rb"^(@@ -\d|diff --git )", re.MULTILINE)


@dataclass(frozen=True)
class Patch:
    """One patch: its file name, its sha256 and its bytes (line ends matter)."""

    name: str
    sha256: str
    content: bytes

    def for_role(self) -> dict[str, str]:
        """As the role takes it; base64, since Ansible would evaluate braces in a text."""
        return {"name": self.name, "sha256": self.sha256, "content": base64.b64encode(self.content).decode("ascii")}


def read_patches(paths: Iterable[str], folder: Path) -> tuple[Patch, ...]:
    """Read `runtime.patches`; relative paths count from the inventory's directory. Raises InvalidInventory."""
    return tuple(_read(controller_path(path, folder)) for path in paths)


def controller_path(path: str, folder: Path) -> Path:
    """A path of the spec on this machine: absolute, `{project}/...`, or relative to the inventory's directory."""
    return folder / assets.expand(path)


def _read(path: Path) -> Patch:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInventory(f"runtime.patches: {path}: {error.strerror}") from error
    if len(content) > MOST_BYTES or not _DIFF.search(content):
        raise InvalidInventory(f"runtime.patches: {path} is no unified diff", hint="make it with git diff, or diff -u")
    # It becomes a file on the host.
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", path.name)[:100]
    return Patch(name, hashlib.sha256(content).hexdigest(), content)
