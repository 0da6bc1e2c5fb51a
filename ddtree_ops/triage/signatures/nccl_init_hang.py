"""The ranks never finished connecting: NCCL was loaded, and then nothing more came."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Signature

# The last words of rank 0 before it creates the communicator: SGLang 0.5.13.post1 (srt/distributed/device_communicators/
# pynccl.py), vLLM likewise; the others' are earlier ones
_LOADED = re.compile(r"(?:sglang|vLLM) is using nccl==\d")
_WAITING = re.compile(r"Init torch distributed begin|NCCL version \d|NCCL INFO ")

_FIXES = (
    "Look for IOMMU translation and PCIe ACS on this host: both make copies between GPUs hang (kernel argument iommu=pt).",
    "Start once with NCCL_P2P_DISABLE=1: if that works, peer-to-peer access between the GPUs is broken; don't keep it.",
    "Start once with NCCL_DEBUG=INFO: it shows how far the ranks came. With several hosts: NCCL_SOCKET_IFNAME and firewalls.",
)


def init_hang(how: str) -> Finding:
    """The finding; `how`: what shows that it hangs."""
    return Finding(
        kind=Kind.NCCL_INIT_HANG,
        title="NCCL hangs while the ranks connect",
        cause=f"{how} The ranks were still setting up NCCL: peer-to-peer copies between the GPUs don't get through, or a rank is"
        " missing.",
        fixes=_FIXES,
        confidence=Confidence.LIKELY,
    )


def of_silence(last_lines: Iterable[str]) -> Finding | None:
    """For a server that was given up while it started, by each rank's last line, without prefix."""
    lines = list(last_lines)
    loaded = [line for line in lines if _LOADED.search(line)]
    if not loaded or not all(_LOADED.search(line) or _WAITING.search(line) for line in lines):
        return None
    return init_hang(f"The last line was `{loaded[0].strip()[:120]}`, then nothing came until the start was given up.")


#: `of_silence` needs the line to have been read.
SIGNATURE = Signature(literals=("is using nccl==",))
