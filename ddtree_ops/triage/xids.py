"""NVIDIA's Xid messages: how the driver's kernel module prints them, and what the numbers mean.

Numbers and meanings are those of NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors) and of `nverror.h` in
open-gpu-kernel-modules 580; SXids are the NVSwitch driver's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from ddtree_ops.units.whole_number import whole_number


class Fault(IntEnum):
    """What a message is about; of several in one event the smallest is where it began."""

    LOST = 0  # the GPU doesn't answer on its bus
    LINK = 1  # an NVLink of this very GPU, or an NVSwitch
    MEMORY = 2  # ECC errors that weren't corrected, rows that can't be replaced
    REMOTE_LINK = 3  # a GPU noticed that another one doesn't answer over NVLink
    STUCK = 4  # firmware or engines that no longer answer: only a reset helps
    ADDRESS = 5  # the process's own kernel touched memory that it mustn't
    APPLICATION = 6  # other faults of the process's own work
    RECOVERY = 7  # what the driver wants done
    RECORD = 8  # written down for later, nothing broke
    CLEANUP = 9  # channels closed because a process ended or something before failed
    OTHER = 10


_MEANINGS: dict[Fault, dict[int, str]] = {
    Fault.LOST: {79: "the GPU has fallen off the bus", 167: "a fatal PCIe timeout"},
    Fault.LINK: {
        74: "an NVLink error",
        144: "an NVLink error (SAW)",
        146: "an NVLink error (TLW)",
        147: "an NVLink error (TREX)",
        148: "an NVLink error (NVLPW)",
        149: "an event of an NVLink itself (NETIR)",
        150: "an NVLink error (MSE)",
        155: "an NVLink error found by software",
    },
    Fault.REMOTE_LINK: {137: "an access over NVLink that another GPU refused", 145: "an NVLink request without answer (RLW)"},
    Fault.MEMORY: {
        48: "an uncorrectable ECC error",
        64: "a bad memory row that can't be replaced",
        94: "an uncorrectable ECC error, contained to its process",
        95: "an uncorrectable ECC error that isn't contained",
        140: "an unrecovered ECC error",
        157: "a memory row that can't be retired",
        171: "an uncorrectable DRAM error",
        172: "an uncorrectable SRAM error",
    },
    Fault.STUCK: {
        8: "the driver's watchdog found the GPU locked",
        38: "a firmware error",
        46: "the GPU stopped processing",
        61: "a microcontroller's breakpoint",
        62: "a microcontroller halted",
        109: "a context switch timed out",
        110: "a security fault",
        119: "the GPU's firmware (GSP) doesn't answer",
        120: "an error in the GPU's firmware (GSP)",
        122: "the power unit doesn't answer (read)",
        123: "the power unit doesn't answer (write)",
        143: "the GPU couldn't be initialised",
        158: "a fatal timeout of the GPU",
    },
    Fault.ADDRESS: {31: "an access to an address that isn't mapped"},
    Fault.APPLICATION: {
        13: "a kernel raised an exception",
        32: "a broken command stream",
        43: "a process's work was stopped after a fault of its own",
        68: "an exception of the video decoder",
        69: "an engine refused a command",
    },
    Fault.RECOVERY: {154: "the driver asks for a recovery action"},
    Fault.RECORD: {
        63: "a bad memory row was noted for replacement",
        92: "many corrected ECC errors",
        121: "many corrected errors of the link to the CPU (C2C)",
        156: "a memory row was retired",
        160: "a channel was retired",
    },
    Fault.CLEANUP: {45: "channels were closed"},
}
_BY_NUMBER = {number: (fault, words) for fault, found in _MEANINGS.items() for number, words in found.items()}

_XID = re.compile(
    r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]{4,20})[^)]{0,80}\): (?P<number>\d{1,4})(?:, |$)"
    r"(?:pid='?(?P<pid>\d{1,10}|<unknown>)'?, )?(?:name=(?P<name>[^,]{0,64}), )?(?P<text>.*)"
)
_SXID = re.compile(r"nvidia-nvswitch\d{1,3}: SXid \(PCI:(?P<pci>[0-9a-fA-F:.]{4,20})\): (?P<number>\d{4,6}), (?P<text>.*)")
# over three lines in some releases: the last one doesn't name the GPU
_LOST = re.compile(
    r"NVRM: (?:.{0,40}?GPU (?:at )?(?:PCI:)?(?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}).{0,80}?)?f(?:ell"
    r"|allen) off the bus"
)
#: The first line of such a message.
NAMED = re.compile(r"NVRM: The NVIDIA GPU (?P<pci>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})")
_BEFORE = re.compile(r"caused by previous Xid (\d{1,4})")
_ADDRESS = re.compile(r"Out Of Range Address|Misaligned Address|Illegal Address|MMU Fault|Invalid Address Space", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Xid:
    """One message. `pci`: empty if it doesn't say. `number`: the one it names as its cause, where it does so. `switch`:"
    " an NVSwitch's SXid."""

    pci: str
    number: int
    pid: int | None
    text: str
    switch: bool = False

    @property
    def fault(self) -> Fault:
        """What it is about."""
        if self.switch:
            return Fault.LINK if self.text.startswith("Fatal") else Fault.RECORD
        if self.number == 13 and _ADDRESS.search(self.text):
            return Fault.ADDRESS
        return _BY_NUMBER.get(self.number, (Fault.OTHER, ""))[0]

    @property
    def meaning(self) -> str:
        """In words; empty for numbers that we don't know."""
        return "an NVSwitch error" if self.switch else _BY_NUMBER.get(self.number, (Fault.OTHER, ""))[1]

    @property
    def name(self) -> str:
        """`Xid 79`, `SXid 12028`."""
        return f"{'SXid' if self.switch else 'Xid'} {self.number}"


def read_xid(words: str) -> Xid | None:
    """The message in a line of the kernel's, or None."""
    found = _XID.match(words)
    if found:
        before = _BEFORE.search(found["text"])
        pid = whole_number(found["pid"])
        return Xid(found["pci"], int(before[1] if before else found["number"]), pid, found["text"])
    found = _SXID.match(words)
    if found:
        return Xid(found["pci"], int(found["number"]), None, found["text"], switch=True)
    found = _LOST.match(words)
    return Xid(found["pci"] or "", 79, None, words) if found else None
