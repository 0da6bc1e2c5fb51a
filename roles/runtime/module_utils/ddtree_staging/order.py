"""What is asked for: one release, and where its parts are on the host."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible.module_utils.ddtree_staging.fence import Fence


@dataclass(frozen=True)
class Wheel:
    """A wheel that the release needs from the controller. `own`: a local one, installed by its path below its sha256."""

    name: str
    sha256: str
    own: bool = True


@dataclass(frozen=True)
class Patch:
    """A unified diff: file name without a directory, sha256 and content."""

    name: str
    sha256: str
    content: bytes


@dataclass(frozen=True)
class Installation:
    """Locked packages, the Python that they are for, and the uv that installs them."""

    root: Path
    python: str
    requirements: str
    uv_lock: str
    uv_version: str
    offline: bool
    wheels: tuple[Wheel, ...]

    @property
    def cache(self) -> Path:
        return self.root / "uv-cache"

    @property
    def wheelhouse(self) -> Path:
        return self.root / "wheelhouse"

    @property
    def tools(self) -> Path:
        return self.root / "tools" / f"uv-{self.uv_version}"

    def wheel_path(self, wheel: Wheel) -> Path:
        """Local wheels lie under their own sha256, so that two builds of one version never mix; others side by side."""
        folder = self.wheelhouse / wheel.sha256 if wheel.own else self.wheelhouse
        return folder / wheel.name


@dataclass(frozen=True)
class Order(Installation):
    """One release as the role asks for it. `seed` is what the controller knows of manifest.json."""

    release_id: str
    home: Path
    user: str
    server: str
    unit: str
    seed: dict[str, Any]
    patches: tuple[Patch, ...]
    repair: bool = False
    fence: Fence = field(default_factory=Fence)

    @property
    def releases(self) -> Path:
        return self.root / "releases"

    @property
    def release(self) -> Path:
        return self.releases / self.release_id

    @property
    def staging(self) -> Path:
        return self.releases / f".staging-{self.release_id}"
