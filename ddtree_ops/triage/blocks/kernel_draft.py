"""What a kernel's report of several lines is collected in."""

from __future__ import annotations

from dataclasses import dataclass, field

from ddtree_ops.triage.block import Block, Device, Evidence, Origin
from ddtree_ops.triage.lines import Line, evidence

LINE_LENGTH = 2000


@dataclass(slots=True)
class KernelDraft:
    """Lines that belong together, as many as are worth keeping, and the times of the first and the last."""

    lines: list[str] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    first_us: int | None = None
    last_us: int | None = None

    def keep(self, words: str, line: Line, *, telling: bool = True) -> None:
        """Keep a line; `telling`: as evidence, too."""
        self.first_us = self.first_us if self.lines else line.entry.realtime_us
        self.last_us = line.entry.realtime_us
        self.lines.append(words[:LINE_LENGTH])
        if telling:
            self.evidence.append(evidence(line))

    def block(
        self, *, subjects: tuple[int, ...] = (), name: str | None = None, devices: tuple[Device, ...] = (), times: int = 1
    ) -> Block:
        """The report as one block; of a single process, with a `name`, it is that process's, for the kernel only reports it."""
        return Block(
            pid=subjects[0] if name and len(subjects) == 1 else None,
            rank=None,
            comm=name or "kernel",
            header="",
            record=False,
            exceptions=(),
            evidence=tuple(self.evidence),
            first_us=self.first_us,
            last_us=self.last_us,
            origin=Origin.KERNEL,
            lines=tuple(self.lines),
            devices=devices,
            subjects=subjects,
            times=times,
        )
