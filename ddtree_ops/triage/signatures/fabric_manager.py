"""nvidia-fabricmanager, or NVLSM below it, can't bring the NVSwitch fabric up; without it no CUDA program starts."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Signature

# nvidia-fabricmanager 535 to 595, as it writes to its unit's journal
_VERSION = re.compile(
    r"(?:\[[^\]]{1,40}\] ?){0,4}[Ff]abric [Mm]anager NVIDIA GPU driver interface version "
    r"(?P<own>[\d.]{1,30}) don't match with driver version (?P<driver>[\d.]{1,30}\d)"
)
_FAILED = re.compile(
    r"(?:\[[^\]]{1,40}\] ?){0,4}(?:[Ff]abric [Mm]anager .{0,120}?(?:failed|error|aborting|not (?:ready|initialized))"
    r"|failed to (?:initialize|configure|train) .{0,80}?(?:NVSwitch|NVLink|fabric)|fabric (?:training|initialization) "
    r"(?:failed|timed out)"
    r"|NVLSM .{0,80}?(?:failed|not running|exited)|nvlsm: .{0,80}?(?:failed|exited|error))"
)
_NOTHING = re.compile(r"NV_WARN_NOTHING_TO_DO")  # a host without NVSwitches needs no fabric manager
_FIXES = (
    "Install nvidia-fabricmanager (and NVLSM, from B200 on) of exactly the driver's version; restart it, then reset the GPUs.",
    "nvidia-smi -q must show Fabric State Completed and Status Success for every GPU before the server starts.",
)


def match_line(text: str) -> Finding | None:
    """A line of the fabric manager's; that there is nothing to do is no failure."""
    if _NOTHING.search(text):
        return None
    version = _VERSION.match(text)
    if version:
        return Finding(
            Kind.FABRIC_NOT_READY,
            "The fabric manager is of another version than the driver",
            f"nvidia-fabricmanager was built for driver {version['own']}, the driver is {version['driver']}: it doesn't"
            f" start, and CUDA"
            " waits for the fabric.",
            _FIXES,
            Confidence.CERTAIN,
        )
    if not _FAILED.match(text):
        return None
    return Finding(
        Kind.FABRIC_NOT_READY,
        "The fabric manager could not bring the NVSwitch fabric up",
        "nvidia-fabricmanager reports an error; until the fabric is up every CUDA program fails with error 802.",
        _FIXES,
        Confidence.LIKELY,
    )


SIGNATURE = Signature(
    match_line=match_line, literals=("abric manager", "abric Manager", "NVSwitch", "NVLSM", "nvlsm", "fabric training")
)
