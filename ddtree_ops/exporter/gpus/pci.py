"""PCI addresses of GPUs: NVML, nvidia-smi and the kernel's log each write them in a way of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WRITTEN = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?")


@dataclass(frozen=True, slots=True)
class PciAddress:
    """Where a device is. As text it's what Linux says: 0000:3b:00.0 (drivers/pci/probe.c, pci_setup_device)."""

    domain: int
    bus: int
    device: int
    function: int = 0

    @classmethod
    def parse(cls, text: str) -> PciAddress | None:
        """Of 00000000:3B:00.0 (nvml.h, nvmlPciInfo_t), 0000:3b:00 (NVRM: Xid), 3b:00.0; None for anything else."""
        found = _WRITTEN.fullmatch(text.strip().lower())
        return cls(*(int(part or "0", 16) for part in found.groups())) if found else None

    @property
    def slot(self) -> str:
        """Without the function, as the driver names a GPU in the kernel's log: 0000:3b:00."""
        return f"{self.domain:04x}:{self.bus:02x}:{self.device:02x}"

    def __str__(self) -> str:
        return f"{self.slot}.{self.function:x}"
