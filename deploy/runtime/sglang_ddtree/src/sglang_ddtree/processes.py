"""The server's process tree, read from /proc (proc(5))."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessState:
    """One process: its parent and group, CPU seconds used, and bytes read since it began."""

    pid: int
    parent: int
    group: int
    zombie: bool
    cpu_s: float
    read_bytes: int


def tree_of(root: int) -> dict[int, ProcessState]:
    """All living processes below `root` or in its process group, root included; by pid."""
    everyone = {state.pid: state for state in map(_state, _pids()) if state is not None}
    chosen: dict[int, ProcessState] = {}
    for pid, state in everyone.items():
        if not state.zombie and (state.group == root or _descends(pid, root, everyone)):
            chosen[pid] = _with_reads(state)
    return chosen


def kill_tree(root: int) -> None:
    """SIGKILL to root's whole process group and to whatever below it has left the group."""
    # the group last: its leader's death would hide from us which processes were its descendants
    for pid in tree_of(root):
        _signal(pid, signal.SIGKILL)
    try:
        os.killpg(root, signal.SIGKILL)
    except ProcessLookupError:
        return


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _pids() -> list[int]:
    return [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()]


def _descends(pid: int, root: int, everyone: Mapping[int, ProcessState]) -> bool:
    for _ in range(64):
        if pid == root:
            return True
        state = everyone.get(pid)
        if state is None or state.parent == 0:
            return False
        pid = state.parent
    return False


def _state(pid: int) -> ProcessState | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text[text.rfind(")") + 2 :].split()  # the name before may hold spaces and parentheses
    cpu = (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND
    return ProcessState(pid, int(fields[1]), int(fields[2]), fields[0] in "ZX", cpu, 0)


def _with_reads(state: ProcessState) -> ProcessState:
    """Bytes read by calls (rchar) or from disk for mapped files (read_bytes), whichever is more."""
    try:
        text = (_PROC / str(state.pid) / "io").read_text(encoding="ascii")
    except OSError:  # gone, or not ours to look at
        return state
    values = dict(line.split(": ") for line in text.splitlines())
    read = max(int(values["rchar"]), int(values["read_bytes"]))
    return ProcessState(state.pid, state.parent, state.group, state.zombie, state.cpu_s, read)
