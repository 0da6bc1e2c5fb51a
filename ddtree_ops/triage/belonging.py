"""Whether what the kernel reports has to do with the run: a host has other programs, too."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Block, Origin
from ddtree_ops.triage.groups import Group
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.run import Run
from ddtree_ops.triage.signatures.host_oom import unit_of

_CGROUP = re.compile(r"\btask_memcg=(?P<cgroup>[^,]{1,4000}),")
_NAME = re.compile(
    r"(?:traps: )?(?P<crashed>[^\[\]]{1,64})\[\d{1,10}\]:? |.{0,80}?Killed process \d{1,10}.{0,20}?\((?P<killed>.{1,64}?)\)"
)
#: Of the kernel, these only say that something went wrong: a process's own error says what.
_WEAK = frozenset({Kind.UNKNOWN, Kind.CUDA_ILLEGAL_ACCESS})


def of_others(block: Block, run: Run) -> bool:
    """Whether a crash or a kill hit a process of another unit; False as long as it may have been one of this run."""
    if block.origin is not Origin.KERNEL or not block.subjects or block.devices:
        return False
    ours = [line.entry for pid, line in run.last_lines.items() if pid is not None and pid > 1]
    if not ours or any(pid in run.last_lines or pid in run.fate.dead_children for pid in block.subjects):
        return False
    cgroup = _CGROUP.search(block.text)
    unit, units = unit_of(cgroup["cgroup"]) if cgroup else None, {entry.unit for entry in ours if entry.unit}
    if unit and units:
        return unit not in units
    names = {(found["crashed"] or found["killed"]).strip() for line in block.lines if (found := _NAME.match(line))}
    return bool(names) and not names & {entry.comm for entry in ours}


def is_weak(group: Group) -> bool:
    """Whether it gives way to any other failure."""
    return group.first.block.origin is Origin.KERNEL and group.kind in _WEAK
