"""The NVIDIA driver's messages of one event: a link or a GPU fails, and every process that used it is told."""

from __future__ import annotations

from dataclasses import replace

from ddtree_ops.triage.block import Block, Device, Evidence
from ddtree_ops.triage.blocks.kernel_draft import KernelDraft
from ddtree_ops.triage.lines import Line, evidence
from ddtree_ops.triage.xids import Fault, Xid, read_xid

#: The driver is done within a second or two; what comes later is another event.
QUIET_US = 5_000_000
_LINES_LIMIT = 64
_EVIDENCE_LIMIT = 8
_SUBJECTS_LIMIT = 256

Key = tuple[str, int]


class XidEvent:
    """One event while its lines arrive: the first line of every GPU and number is kept, the others are counted."""

    def __init__(self) -> None:
        self._draft = KernelDraft()
        self._xids: dict[Key, Xid] = {}
        self._evidence: dict[Key, Evidence] = {}
        self._pids: dict[int, None] = {}
        self._count = 0

    def over(self, now_us: int | None) -> bool:
        """Whether the log's clock is past the event."""
        last = self._draft.last_us
        return now_us is not None and last is not None and now_us - last > QUIET_US

    def take(self, words: str, line: Line, named: str = "") -> bool:
        """Take a line of the kernel's; False if it isn't of that sort. `named`: the GPU that a line before it named."""
        xid = read_xid(words)
        if xid is None:
            return False
        xid = replace(xid, pci=xid.pci or named)
        self._count += 1
        if xid.pid is not None and len(self._pids) < _SUBJECTS_LIMIT:
            self._pids[xid.pid] = None
        key = (xid.pci, xid.number)
        if key not in self._xids and len(self._xids) < _LINES_LIMIT:
            self._xids[key], self._evidence[key] = xid, evidence(line)
            self._draft.keep(words, line, telling=False)
        self._draft.last_us = line.entry.realtime_us
        return True

    def finish(self) -> Block:
        """The event as one block."""
        self._draft.evidence = self._telling()
        return self._draft.block(subjects=tuple(self._pids), devices=_devices(tuple(self._xids.values())), times=self._count)

    def _telling(self) -> list[Evidence]:
        """Where it began first, then one line a number, then the rest."""
        order = sorted(self._xids, key=lambda key: self._xids[key].fault)
        first = list({key[1]: key for key in reversed(order)}.values())[::-1]
        rest = [key for key in order if key not in first]
        return [self._evidence[key] for key in (*first, *rest)][:_EVIDENCE_LIMIT]


def _devices(xids: tuple[Xid, ...]) -> tuple[Device, ...]:
    """All that were named; suspect is where it began, if that can be told."""
    worst = min(xid.fault for xid in xids)
    begun = {xid.pci for xid in xids if xid.fault is worst} if worst < Fault.ADDRESS else set()
    return tuple(Device(pci=pci, suspect=pci in begun) for pci in dict.fromkeys(xid.pci for xid in xids) if pci)
