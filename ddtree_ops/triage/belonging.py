"""Whether what the kernel and systemd report has to do with the run: a host has other programs, too."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Block, Origin
from ddtree_ops.triage.blocks import systemd_words as words
from ddtree_ops.triage.groups import Group
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.run import Run
from ddtree_ops.triage.signatures.host_oom import unit_of

_CGROUP = re.compile(r"\btask_memcg=(?P<cgroup>[^,]{1,4000}),")
_NAME = re.compile(
    r"(?:traps: )?(?P<crashed>[^\[\]]{1,64})\[\d{1,10}\]:? |.{0,80}?Killed process \d{1,10}.{0,20}?\((?P<killed>.{1,64}?)\)"
)
_KILLED = re.compile(r"\s{0,8}\S{1,300}: (?:line )?\d{1,6}: +(?P<pid>\d{1,9}) +Killed\b")  # bash(1), of its jobs
_BEFORE_US = 10 * 60 * 1_000_000  # a GPU that fell off the bus a minute before the start is why it fails
#: Of the kernel, these only say that something went wrong: a process's own error says what.
_WEAK = frozenset({Kind.UNKNOWN, Kind.CUDA_ILLEGAL_ACCESS})


def of_others(block: Block, run: Run) -> bool:
    """Whether a crash or a kill hit a process of another unit; False as long as it may have been one of this run."""
    if block.origin is Origin.SYSTEMD:
        return _of_another_unit(block, run)
    if block.origin is not Origin.KERNEL or not block.subjects or block.devices or _told_by_shell(block, run):
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


def is_of_before(block: Block, run: Run) -> bool:
    """Whether the kernel said it long before the run's own first line: the machine has had a life before."""
    if block.origin is not Origin.KERNEL or block.last_us is None or run.began_us is None:
        return False
    return block.last_us < run.began_us - _BEFORE_US


def _of_another_unit(block: Block, run: Run) -> bool:
    """Whether a failure that only systemd tells is of a unit that isn't the run's, as far as its processes' units are known."""
    units = {line.entry.unit for pid, line in run.last_lines.items() if pid is not None and pid > 1 and line.entry.unit}
    told_alone = not any(words.STEP.match(line) for line in block.lines)
    return told_alone and bool(units) and block.header.endswith(".service") and block.header not in units


def _told_by_shell(block: Block, run: Run) -> bool:
    """Whether a shell of the run says that its child with this process id was killed."""
    lines = (line for seen in run.observations if seen.block.origin is Origin.LINE for line in seen.block.lines)
    killed = {int(found["pid"]) for line in lines if (found := _KILLED.match(line))}
    return any(pid in killed for pid in block.subjects)


def is_weak(group: Group) -> bool:
    """Whether it gives way to any other failure."""
    return group.first.block.origin is Origin.KERNEL and group.kind in _WEAK
