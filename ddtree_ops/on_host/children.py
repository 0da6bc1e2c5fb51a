"""The roles' own programs, each in a process of its own: one of them gives up root, and any may hang in a file system."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

SECONDS = 60.0
MOST_BYTES = 4 << 20


class Child:
    """A forked process that runs a program; `out` is the end of its standard output."""

    def __init__(self, pid: int, out: int) -> None:
        self.pid = pid
        self.out = out
        self.deadline = time.monotonic() + SECONDS


def start(program: str, arguments: list[str]) -> Child:
    """Run the text of a program as `python3 - ARGUMENTS` would, without starting another interpreter."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        os.dup2(into, 1)
        os._exit(_run(program, arguments))
    os.close(into)
    return Child(pid, out)


def _run(program: str, arguments: list[str]) -> int:
    sys.argv = ["-", *arguments]
    # Its own: what this process has not written yet would come twice.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    # A module of its own: dataclasses look their module up by name.
    module = sys.modules["__main__"] = type(sys)("__main__")
    try:
        exec(compile(program, "<program>", "exec"), module.__dict__)  # a text that the controller has sent
        sys.stdout.flush()
    except BaseException as error:  # the process ends here; whatever it was is told
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def finish(child: Child) -> dict[str, object]:
    """`{"output": text, "problem": text or null}`: all that it printed, or why that can't be had."""
    parts: list[bytes] = []
    while sum(map(len, parts)) < MOST_BYTES:
        ready, _, _ = select.select([child.out], [], [], max(0.0, child.deadline - time.monotonic()))
        data = os.read(child.out, 1 << 16) if ready else None
        if data is None:
            # Not waited for: in a file system that hangs, not even SIGKILL ends it.
            os.kill(child.pid, signal.SIGKILL)
            return {"output": "", "problem": f"no end in {SECONDS:.0f} s"}
        if not data:
            break
        parts.append(data)
    _, status = os.waitpid(child.pid, 0)
    problem = None if status == 0 else f"it ended with status {status}"
    return {"output": b"".join(parts).decode("utf-8", "replace"), "problem": problem}
