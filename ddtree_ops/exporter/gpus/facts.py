"""One reading of the GPUs as plain data. What a GPU doesn't tell is None: a 0 would be a lie."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """One GPU in base units: bytes, watts, degrees Celsius, a ratio. `pci` as Linux writes it: 0000:3b:00.0; empty if unknown.

    `ecc` by type (corrected, uncorrected) over the board's life. `nvlinks` is None without NVLink.
    """

    index: int
    name: str
    pci: str
    used: float | None = None
    memory: float | None = None
    busy: float | None = None
    temperature: float | None = None
    power: float | None = None
    power_limit: float | None = None
    throttled: frozenset[str] | None = None
    ecc: Mapping[str, float] = field(default_factory=dict)
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    pcie_width: float | None = None
    pcie_generation: float | None = None
    nvlinks: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """All GPUs that answered; one that fell off the bus is not among them."""

    driver: str
    gpus: tuple[GpuFacts, ...]

    def to_json(self) -> str:
        """For from_json, in another process."""
        return json.dumps(asdict(self), default=sorted)

    @classmethod
    def from_json(cls, text: str) -> Reading:
        """Raises ValueError, TypeError, KeyError for anything else."""
        data: dict[str, Any] = json.loads(text)
        return cls(data["driver"], tuple(_gpu(one) for one in data["gpus"]))


def _gpu(data: dict[str, Any]) -> GpuFacts:
    throttled = data.pop("throttled")
    return GpuFacts(throttled=None if throttled is None else frozenset(throttled), **data)
