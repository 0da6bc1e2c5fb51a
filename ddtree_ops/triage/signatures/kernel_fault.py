"""The kernel saw a process crash, hang, or a machine's part fail."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_CRASH = re.compile(
    r"(?:traps: )?(?P<name>[^\[\]]{1,64})\[(?P<pid>\d{1,10})\]:? (?P<how>segfault at (?P<address>[0-9a-f]{1,16})"
    r"|general protection fault"
    r"|trap [a-z0-9 ]{1,30}?(?= ip)|unhandled (?:exception|signal))(?:.{0,300}? in (?P<library>[^\s\[]{1,300})"
    r"(?: \(deleted\))?\[)?"
)
_GPU_BUS = re.compile(
    r"nvidia [0-9a-f:.]{4,20}: (?:AER: )?.{0,20}PCIe Bus Error"
    r"|.{0,64}?\bPCIe Bus Error: severity=Uncorr\w{0,8} ?\(Fatal\)|pcieport .{1,20}: DPC: "
)
_STUCK = re.compile(r"INFO: task (?P<name>.{1,64}?):(?P<pid>\d{1,10}) blocked for more than (?P<seconds>\d{1,6}) seconds")
_IO = re.compile(
    r"(?:I/O error|error), dev (?P<device>[\w-]{1,32})|\((?:device )?(?P<fs>[\w-]{1,32})\)|nvme (?P<nvme>nvme\d{1,4})"
    r"|dev(?:ice)? (?P<buffer>[\w-]{1,32})"
)
_DISK = re.compile(r"EXT4-fs|XFS|BTRFS|(?:\w{1,20} )?(?:I/O|critical \w{1,20}) error|blk_update_request|Buffer I/O|nvme ")

_CORE = ("Look at the core dump: coredumpctl info, or coredumpctl gdb, then bt.", "The library that is named is where to look.")
_LOW_ADDRESS = 0x10000


def match(context: Context) -> Finding | None:
    """By the line itself; what has no kind of its own stays unknown, with what the kernel's words mean."""
    if context.block.origin is not Origin.KERNEL or not context.block.lines:
        return None
    text = context.block.lines[0]
    crash = _CRASH.match(text)
    if crash:
        return _crashed(crash)
    stuck = _STUCK.match(text)
    if stuck:
        return _unknown(
            "A process hangs in the kernel",
            f"{stuck['name']} ({stuck['pid']}) has waited in the kernel for more than {stuck['seconds']} s, most often"
            f" for a disk or"
            " a driver that doesn't answer.",
        )
    if _GPU_BUS.match(text):
        return _bus(text)
    if _DISK.match(text):
        found = _IO.search(text)
        device = next((name for name in found.groups() if name), None) if found else None
        return _unknown(
            f"The kernel reports errors of the disk{f' {device}' if device else ''}",
            f"Reading or writing {device or 'a disk'} failed: it is damaged, gone, or its backing store is full.",
        )
    return None


def _crashed(found: re.Match[str]) -> Finding:
    library = found["library"]
    where = f" in {library}" if library else ""
    how = {"s": "touched an address that isn't mapped", "g": "touched an address that can't be"}.get(
        found["how"][0], found["how"]
    )
    if found["address"] and int(found["address"], 16) < _LOW_ADDRESS:
        how = "followed a null pointer"
    return Finding(
        Kind.NATIVE_SEGFAULT,
        f"{found['name'].strip()} crashed in native code{where}",
        f"Process {found['pid']} ({found['name'].strip()}) {how}{where}.",
        _CORE,
        Confidence.LIKELY if library else Confidence.LOW,
    )


def _bus(text: str) -> Finding:
    return Finding(
        Kind.GPU_LOST if text.startswith("nvidia ") else Kind.UNKNOWN,
        "A PCIe link reported errors that can't be corrected",
        "A device or its slot failed on the PCIe bus; a GPU behind it is lost until it is reset.",
        ("lspci -tv shows what hangs on that port; look at its power, cable and slot; reboot.",),
        Confidence.LIKELY,
    )


def _unknown(title: str, cause: str) -> Finding:
    return Finding(Kind.UNKNOWN, title, cause, ("Read the kernel's log of that time: journalctl -k.",), Confidence.LOW)


SIGNATURE = Signature(match)
