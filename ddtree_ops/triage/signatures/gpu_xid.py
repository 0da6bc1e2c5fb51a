"""The NVIDIA driver reported a fault of a GPU, of its memory, of an NVLink, or of a process's work (Xid messages)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.cuda_illegal_access import PARTNER_FIX
from ddtree_ops.triage.xids import Fault, Xid, read_xid

_ACTION = re.compile(r"recovery action changed from .{0,40}? to 0x[0-9a-f]{1,8} \((?P<action>[^)]{1,60})\)")
_PARTNER = re.compile(r"CTA Not Present")
_INIT = re.compile(r"NVRM: .{0,80}?(?:RmInitAdapter failed|rm_init_adapter failed)")

_KINDS = {
    Fault.LOST: (Kind.GPU_LOST, Confidence.CERTAIN),
    Fault.LINK: (Kind.NVLINK_FAULT, Confidence.CERTAIN),
    Fault.REMOTE_LINK: (Kind.NVLINK_FAULT, Confidence.LIKELY),
    Fault.MEMORY: (Kind.GPU_ECC, Confidence.CERTAIN),
    Fault.STUCK: (Kind.GPU_RESET_REQUIRED, Confidence.LIKELY),
    Fault.RECOVERY: (Kind.GPU_RESET_REQUIRED, Confidence.CERTAIN),
    Fault.ADDRESS: (Kind.CUDA_ILLEGAL_ACCESS, Confidence.LIKELY),
}
#: What each kind is called, and what helps.
TITLES = {
    Kind.GPU_LOST: "A GPU fell off the bus",
    Kind.NVLINK_FAULT: "An NVLink failed",
    Kind.GPU_ECC: "A GPU's memory is damaged",
    Kind.GPU_RESET_REQUIRED: "A GPU needs a reset",
    Kind.CUDA_ILLEGAL_ACCESS: "A GPU kernel touched memory that isn't its own",
}
_RECORD_FIXES = {
    63: "The row is replaced at the next reset of the GPU: do one soon; nvidia-smi -q -d ROW_REMAPPER shows what is pending.",
    92: "Watch it: nvidia-smi -q -d ECC counts corrected errors; a GPU that goes on so should be looked at.",
    121: "Watch it: nvidia-smi c2c -e counts errors of that link.",
}
_RESET = "Reset the GPU (nvidia-smi --gpu-reset -i N, with nothing running on it), or reboot the host."
FIXES: dict[Kind, tuple[str, ...]] = {
    Kind.GPU_LOST: (
        "Reboot the host; if the GPU doesn't come back, take its power away for a minute.",
        "If it happens again: look at power, temperature and the slot (PCIe errors in journalctl -k), then have it replaced.",
    ),
    Kind.NVLINK_FAULT: (
        "Reset all GPUs of the host or reboot it; restart nvidia-fabricmanager where there are NVSwitches.",
        "nvidia-smi nvlink -s and -e show the links and their errors; if the same GPU is named again, have it looked at.",
    ),
    Kind.GPU_ECC: (
        _RESET,
        "nvidia-smi -q -d ECC,ROW_REMAPPER shows what is damaged; after a failed remapping the GPU has to be replaced.",
    ),
    Kind.GPU_RESET_REQUIRED: (_RESET, "If it happens again: other driver branch, then have the GPU looked at."),
    Kind.CUDA_ILLEGAL_ACCESS: (
        "The process's own error tells more; CUDA_LAUNCH_BLOCKING=1 makes its stack true.",
        "If other programs fail on this GPU too, suspect the hardware.",
    ),
}


def match(context: Context) -> Finding | None:
    """By the worst message of the event; devices and processes come with the block."""
    if context.block.origin is not Origin.KERNEL:
        return None
    xids = [xid for line in context.block.lines if (xid := read_xid(line))]
    if not xids:
        return _not_started() if _INIT.match(context.block.text) else None
    action = context.search(_ACTION)
    worst = min(xids, key=lambda xid: xid.fault)
    if worst.fault is Fault.RECOVERY and (action is None or action["action"] == "None"):
        return _noise("The driver withdrew a recovery action", worst)
    if worst.fault is Fault.RECORD:
        return _record(worst)
    if worst.fault is Fault.CLEANUP:
        return _noise("The driver cleaned up on a GPU", worst)
    known = _KINDS.get(worst.fault)
    if known is None:
        return _own_fault(worst)
    kind, confidence = known
    wanted = action["action"] if action and action["action"] != "None" else None
    first = (f"Do what the driver asks for: {wanted}.",) if wanted else ()
    fixes = (PARTNER_FIX,) if _PARTNER.search(context.block.text) else ()
    return Finding(kind, TITLES[kind], _cause(worst, xids, wanted), (*first, *fixes, *FIXES[kind]), confidence)


def _cause(worst: Xid, xids: Sequence[Xid], wanted: str | None) -> str:
    same = tuple(dict.fromkeys(xid.pci for xid in xids if xid.fault is worst.fault))
    others = tuple(dict.fromkeys(xid.pci for xid in xids if xid.pci not in same))
    what = worst.meaning or "a fault"
    words = f"{worst.name} on {', '.join(filter(None, same[:8])) or 'a GPU'}: {what}"
    if others:
        words += f"; {len(others)} other GPU{'s' if len(others) > 1 else ''} of the host ran into it"
    return words + (f"; the driver asks for: {wanted}." if wanted else ".")


def _own_fault(worst: Xid) -> Finding:
    """A fault of a process's own work, or a number that isn't in the catalogue: the process's own error names the reason."""
    title = f"{worst.name} on a GPU" + (f": {worst.meaning}" if worst.meaning else "")
    return Finding(Kind.UNKNOWN, title, None, (FIXES[Kind.CUDA_ILLEGAL_ACCESS][0],), Confidence.UNKNOWN)


def _record(worst: Xid) -> Finding:
    """Nothing broke, but something is to be done one day. It has no kind of its own."""
    fix = _RECORD_FIXES.get(worst.number)
    return Finding(
        Kind.SHUTDOWN_NOISE,
        f"The driver noted something on a GPU: {worst.name}",
        f"{worst.name}: {worst.meaning or 'an event that was written down'}. Nothing failed by it.",
        (fix,) if fix else (),
        Confidence.LIKELY,
    )


def _noise(title: str, worst: Xid) -> Finding:
    return Finding(
        Kind.SHUTDOWN_NOISE,
        title,
        f"{worst.name}: {worst.meaning}. It follows from something else, or from a process's end.",
        (),
        Confidence.LIKELY,
    )


def _not_started() -> Finding:
    return Finding(
        Kind.GPU_RESET_REQUIRED,
        "The driver can't start a GPU",
        "The NVIDIA driver could not initialise the GPU: it hangs, its firmware doesn't answer, or the slot has a fault.",
        (_RESET, "If a reset doesn't help, take the host's power away for a minute; then have the GPU looked at."),
        Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
