"""Recognises what the kernel says of failures: NVIDIA's Xids, the OOM killer, crashed processes, disks and buses."""

from __future__ import annotations

from typing import ClassVar

from ddtree_ops.triage.block import Block
from ddtree_ops.triage.blocks.kernel_faults import KernelFaults
from ddtree_ops.triage.blocks.kernel_oom import OomKill
from ddtree_ops.triage.blocks.kernel_words import LENGTH, kernel_words, may_be_kernel
from ddtree_ops.triage.blocks.kernel_xid import XidEvent
from ddtree_ops.triage.lines import Line, Prefix
from ddtree_ops.triage.xids import NAMED


class Kernel:
    """Feed it every line (recogniser.py). One kernel writes here, so there is one event of a sort at a time."""

    literals: ClassVar[tuple[str, ...]] = (
        "NVRM: Xid (",
        "off the bus",
        "NVRM: The NVIDIA GPU ",
        "RmInitAdapter failed",
        "rm_init_adapter failed",
        ": SXid (PCI:",
        "invoked oom-killer",
        "kB, limit ",
        "oom-kill:constraint=",
        "Kill process ",
        "Killed process ",
        " segfault at ",
        " general protection fault",
        "] trap ",
        "unhandled exception",
        "blocked for more than ",
        "BUG: soft lockup",
        "EXT4-fs ",
        "XFS (",
        "BTRFS ",
        "I/O error",
        "nvme nvme",
        "[Hardware Error]",
        "Kernel panic - ",
        "PCIe Bus Error: severity=Uncorr",
        "DPC: containment",
        "Link Down",
    )

    def __init__(self) -> None:
        self._xids: XidEvent | None = None
        self._named = ""  # the GPU of a message over several lines, of which only the first names it
        self._oom = OomKill()
        self._faults = KernelFaults()

    @property
    def busy(self) -> bool:
        """Never: every line that counts has a literal of its own, and thousands of others may come between them."""
        return False

    def feed(self, line: Line, prefix: Prefix) -> list[Block]:
        """Take one line (`prefix`: what `read_prefix` made of it)."""
        done = self._close_xids() if self._xids and self._xids.over(line.entry.realtime_us) else []
        if not may_be_kernel(line.entry):
            return done
        text = line.text[:LENGTH]
        words = kernel_words(line, prefix) if any(literal in text for literal in self.literals) else None
        if words is None:
            return done
        event = self._xids or XidEvent()
        if event.take(words, line, self._named):
            self._xids = event
            return done
        named = NAMED.match(words)
        self._named = named["pci"] if named else self._named
        return [*done, *self._oom.take(words, line), *self._faults.take(words, line)]

    def settle(self) -> list[Block]:
        """Give out the driver's event: what it led to was seen."""
        return self._close_xids()

    def flush(self) -> list[Block]:
        """Give out everything, at the end of the log."""
        return [*self._close_xids(), *self._oom.flush()]

    def _close_xids(self) -> list[Block]:
        event, self._xids = self._xids, None
        return [event.finish()] if event else []
