"""Lines of the kernel that tell a fault by themselves: a process that crashed, a disk, a bus, a machine check."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Block
from ddtree_ops.triage.blocks.kernel_draft import KernelDraft
from ddtree_ops.triage.lines import Line

# arch/x86/mm/fault.c and arch/x86/kernel/traps.c; the second form has its text after the process id
_PROCESS = re.compile(
    r"(?:traps: )?(?P<name>[^\[\]]{1,64})\[(?P<pid>\d{1,10})\]:? "
    r"(?:segfault at |general protection fault|trap (?:invalid opcode|divide error|int3|stack segment|bounds)"
    r"|unhandled (?:exception|signal))"
)
# kernel/hung_task.c, kernel/watchdog.c
_STUCK = re.compile(
    r"INFO: task .{1,64}?:(?P<pid>\d{1,10}) blocked for more than \d{1,6} seconds"
    r"|(?:watchdog: )?BUG: soft lockup - CPU#\d{1,5} stuck for \d{1,6}s!"
)
# fs/ext4, fs/xfs, fs/btrfs, block/blk-core.c, drivers/nvme
_DISK = re.compile(
    r"(?:EXT4-fs|XFS|BTRFS)\b.{0,200}?(?:error 28\b|ENOSPC|[Nn]o space left|errno=-28)"
    r"|EXT4-fs error |EXT4-fs warning \(device [^)]{1,64}\): ext4_end_bio:\d{1,5}: I/O error "
    r"|XFS \([^)]{1,64}\): .{0,80}?(?:[Mm]etadata I/O [Ee]rror|log I/O error|Corruption|Shutting down filesystem)"
    r"|BTRFS (?:error|critical) \(device |(?:blk_update_request: )?(?:critical \w{1,20} error|I/O error), dev "
    r"|Buffer I/O error on dev|nvme nvme\d{1,4}: (?:I/O .{1,40}? timeout, (?:aborting|reset)|controller is down"
    r"|Removing after probe failure)"
)
# arch/x86/kernel/cpu/mce, drivers/acpi/apei, drivers/pci/pcie; corrected errors are no failures, and that "events were
# logged" doesn't say that any was more
_HARDWARE = re.compile(
    r"mce: \[Hardware Error\]: CPU \d{1,5}: Machine Check(?: Exception: |: \d{1,3} Bank \d{1,3}: (?P<status>[0-9a-f]{16})\b)"
    r"|(?:\{\d{1,9}\})?\[Hardware Error\]: (?:Uncorrected, |Uncorrected error|System Fatal error|event severity: fatal)"
    r"|Kernel panic - not syncing: "
    r"|.{0,64}?\bPCIe Bus Error: severity=(?:Uncorrect|Uncorrectable|Uncorrected) ?\((?:Fatal|Non-Fatal)\)"
    r"|pcieport .{1,20}: (?:DPC: containment event|pciehp: Slot\([^)]{1,20}\): Link Down)"
    r"|NVRM: (?:RmInitAdapter failed|rm_init_adapter failed|.{0,80}?: RmInitAdapter failed)"
)
_UNCORRECTED = 1 << 61  # UC of a bank's status (Intel's and AMD's manuals, IA32_MCi_STATUS)
# a floppy or a DVD drive that isn't there
_NO_DISK = re.compile(r".{0,60}?I/O error(?:,| on) dev (?:fd|sr|cdrom)\d")
_SHAPES = (_PROCESS, _STUCK, _DISK, _HARDWARE)
_SAME_LIMIT = 20
_NAMES_LIMIT = 1000
_NUMBERS = re.compile(r"0x[0-9a-f]{1,16}|\d{1,20}")


class KernelFaults:
    """Gives each such line as a block; of lines that differ only in numbers the first few."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def take(self, words: str, line: Line) -> list[Block]:
        """Take a line of the kernel's."""
        found = next((match for shape in _SHAPES if (match := shape.match(words))), None)
        if found is None or _is_harmless(found) or self._often(words):
            return []
        pid, name = found.groupdict().get("pid"), found.groupdict().get("name")
        draft = KernelDraft()
        draft.keep(words, line)
        return [draft.block(subjects=(int(pid),) if pid else (), name=name.strip() if name else None)]

    def _often(self, words: str) -> bool:
        name = _NUMBERS.sub("#", words[:200])
        if name not in self._seen and len(self._seen) >= _NAMES_LIMIT:
            return True
        self._seen[name] = self._seen.get(name, 0) + 1
        return self._seen[name] > _SAME_LIMIT


def _is_harmless(found: re.Match[str]) -> bool:
    """A corrected machine check, or a drive without a medium."""
    status = found.groupdict().get("status")
    corrected = status is not None and not int(status, 16) & _UNCORRECTED
    return corrected or bool(_NO_DISK.match(found.string))
