"""PCI addresses of GPUs, as the kernel's log and nvidia-smi write them, and which GPU has which."""

from __future__ import annotations

import re

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.ports import Command, Shell

_ADDRESS = re.compile(r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})(?:\.[0-7])?")
_MOST = 64
_LENGTH = 16
# --query-gpu as in nvidia-smi(1); a GPU that is lost can make it hang
_ASK = Command(("nvidia-smi", "--query-gpu=index,pci.bus_id", "--format=csv,noheader"), timeout=20.0, most_bytes=1 << 16)


def address(text: str) -> str:
    """`0000:41:00` for `00000000:41:00.0` and the like; what isn't an address as it is, cut."""
    found = _ADDRESS.fullmatch(text.lower())
    if found is None:
        return text.lower()[:_LENGTH]
    return f"{(found['domain'] or '0000')[-4:]}:{found['bus']}:{found['device']}"


def indexes(shell: Shell) -> dict[str, int]:
    """The index of each GPU by its address; empty where nvidia-smi isn't there, or doesn't answer."""
    try:
        lines = shell.run(_ASK).stdout.splitlines()
    except (DdtreeOpsError, OSError):
        return {}
    found: dict[str, int] = {}
    for line in lines[:_MOST]:
        index, _, bus = line.partition(",")
        if index.strip().isdigit() and len(index.strip()) < 4 and _ADDRESS.fullmatch(bus.strip().lower()):
            found[address(bus.strip())] = int(index)
    return found
