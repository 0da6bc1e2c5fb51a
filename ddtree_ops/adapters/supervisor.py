"""Runs one program and sees to it that nothing of it outlives the controller. Started as a script: standard library only.

`python -I -S supervisor.py PID_FILE PARENT PROGRAM ARGUMENT...` ends with the program's own exit code (128 + the signal's number
where one killed it). SIGTERM, SIGINT, SIGHUP, and the death of the process PARENT, even by SIGKILL, end the program and
everything it started: Ansible's workers and their ssh have sessions of their own, so no signal to a process group reaches them.

How the parent's death is known (prctl(2)): PR_SET_PDEATHSIG, and the terminal's hang-up where that is our stdin. How every
descendant is found: PR_SET_CHILD_SUBREAPER makes orphans, daemons too, our own children.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PR_SET_CHILD_SUBREAPER = 36
ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
WATCHED = ENDING | {signal.SIGCHLD}
# Ansible removes its temporary files when it is asked to end; after this many seconds it is not asked any more.
GRACE_SECONDS = 2.0
_prctl = ctypes.CDLL(None, use_errno=True).prctl


def main(pid_file: str, parent: int, argv: list[str]) -> int:
    """Run `argv` to its end, or end it. The folder of `pid_file` is the parent's own and goes when the parent is gone."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked to be told
        return 128 + signal.SIGTERM
    Path(pid_file).write_text(str(os.getpid()))
    try:
        program = subprocess.Popen(argv, preexec_fn=_prepare)  # noqa: PLW1509 - there are no threads here
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return 127
    while True:
        caught = signal.sigwait(WATCHED)
        if caught in ENDING:
            _end(program.pid)
            if caught == signal.SIGHUP and os.getppid() == parent:
                # A parent that dies closes the terminal before it counts as dead: its death's signal is on its way.
                signal.sigtimedwait({signal.SIGTERM}, GRACE_SECONDS)
            if os.getppid() != parent:  # nobody else is left to do it
                shutil.rmtree(Path(pid_file).parent, ignore_errors=True)
            return 128 + caught
        status = _reap(program.pid)
        if status is not None:
            return status


def _prepare() -> None:
    """In the program's process: should we be killed ourselves, it goes, too."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)


def _reap(program: int) -> int | None:
    """Collect children that ended; the program's exit code once it is among them."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == program:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            if pid == 0:
                break
    return None


def _end(program: int) -> None:
    """Ask the program to end, then kill whatever is left of it."""
    with suppress(ProcessLookupError):
        os.kill(program, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while _reap(program) is None:
        left = deadline - time.monotonic()
        if left <= 0 or signal.sigtimedwait({signal.SIGCHLD}, left) is None:
            break
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and _kill_descendants():
        signal.sigtimedwait({signal.SIGCHLD}, 0.05)
        _reap(program)


def _kill_descendants() -> int:
    """SIGKILL to every living one; how many there were. What they start meanwhile is ours at the next look."""
    children: dict[int, list[int]] = {}
    for pid, parent in _processes():
        children.setdefault(parent, []).append(pid)
    found, queue = 0, [os.getpid()]
    while queue:
        for pid in children.get(queue.pop(), ()):
            queue.append(pid)
            found += 1
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    return found


def _processes() -> Iterator[tuple[int, int]]:
    """(pid, parent's pid) of all processes that are no zombies; fields of proc_pid_stat(5)."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                state, parent, *_ = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if state != "Z":
                    yield int(entry.name), int(parent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
