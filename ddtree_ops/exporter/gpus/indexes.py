"""Which GPU has which PCI address."""

from __future__ import annotations

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.gpus.pci import PciAddress
from ddtree_ops.ports import Command, Shell

_MOST = 64
# --query-gpu as in nvidia-smi(1); a GPU that is lost can make it hang
_ASK = Command(("nvidia-smi", "--query-gpu=index,pci.bus_id", "--format=csv,noheader"), timeout=20.0, most_bytes=1 << 16)


def indexes(shell: Shell) -> dict[str, int]:
    """The index of each GPU by its slot; empty where nvidia-smi isn't there, or doesn't answer."""
    try:
        lines = shell.run(_ASK).stdout.splitlines()
    except (DdtreeOpsError, OSError):
        return {}
    found: dict[str, int] = {}
    for line in lines[:_MOST]:
        index, _, bus = line.partition(",")
        address = PciAddress.parse(bus)
        if index.strip().isdigit() and len(index.strip()) < 4 and address is not None:
            found[address.slot] = int(index)
    return found
