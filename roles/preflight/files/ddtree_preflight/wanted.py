"""What the controller asks for: one JSON object, of which only the first keys are needed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

PCIE = "pcie"
NVLINK = "nvlink"


@dataclass(frozen=True)
class Gpus:
    """The hardware profile: memory in MiB, `driver_floor` a driver branch; `siblings` are names that only mostly fit."""

    count: int
    names: tuple[str, ...]
    memory_mib: int
    compute_cap: str
    siblings: tuple[str, ...] = ()
    interconnect: str = ""
    driver_floor: int = 0


@dataclass(frozen=True)
class Wanted:
    """A release on this host. `packages` are versions that its lock pins, by normalised name; empty: nothing is known of it.

    `now` is the controller's time, seconds since 1970; `free_mib` MiB; `model_bytes` the size of all weight files.
    """

    python: str
    root: str
    release: str
    free_mib: int
    port: int
    now: float
    gpus: Gpus | None = None
    packages: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    model_bytes: int | None = None
    remote_code: bool = False
    lock_sha256: str = ""
    cache: str = "/var/cache/ddtree"
    user: str = "ddtree"

    @property
    def place(self) -> str:
        """Where the release lies, or will."""
        return f"{self.root}/releases/{self.release}"

    @property
    def compiles(self) -> bool:
        """SGLang compiles kernels on the host; what a lab serves doesn't."""
        return "sglang" in self.packages

    @property
    def cuda(self) -> tuple[int, int] | None:
        """The CUDA that the lock's libraries are of."""
        return version_of(self.packages.get("nvidia-cuda-runtime", ""))


def read(text: str) -> Wanted:
    """Of the program's argument. Raises KeyError, TypeError or ValueError for another shape."""
    given: dict[str, Any] = json.loads(text)
    gpus = given.pop("gpus", None) or None
    known = {name: given[name] for name in Wanted.__dataclass_fields__ if given.get(name) is not None}
    known["models"] = tuple(known.get("models", ()))
    return Wanted(**known, gpus=_gpus(gpus) if gpus else None)


def _gpus(given: dict[str, Any]) -> Gpus:
    known = {name: given[name] for name in Gpus.__dataclass_fields__ if given.get(name) is not None}
    known.update(names=tuple(known["names"]), siblings=tuple(known.get("siblings", ())), compute_cap=str(known["compute_cap"]))
    return Gpus(**known)


def version_of(text: str) -> tuple[int, int] | None:
    """`13.0.96` as (13, 0); None for what has no two numbers."""
    numbers = text.split(".")[:2]
    if len(numbers) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 6 for part in numbers):
        return None
    return int(numbers[0]), int(numbers[1])
