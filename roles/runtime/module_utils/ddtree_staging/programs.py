"""Running uv, pip and the release's own Python: bounded in time, never outliving this run, their words kept."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from ansible.module_utils.ddtree_staging.problem import Problem, without_secrets

# The controller gives a whole playbook an hour.
TIMEOUT_SECONDS = 3300
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, prctl(2)
_MARKS = "×├╰─▶│╭ "
_MOST_LETTERS = 400


class Failed(Problem):
    """A program ended with an error; `lines` are its last words."""


def run(argv: Sequence[str], what: str, lock: int, environment: Mapping[str, str] | None = None, stdin: str = "") -> str:
    """The program's standard output. `what` it could not do is the start of the message when it fails. Raises Failed."""
    libc = ctypes.CDLL(None)

    def die_with_parent() -> None:
        libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)

    try:
        done = subprocess.run(
            tuple(map(str, argv)),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=TIMEOUT_SECONDS,
            env={**os.environ, **(environment or {})},
            pass_fds=(lock,),
            preexec_fn=die_with_parent,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{what}: no end after {TIMEOUT_SECONDS} s") from None
    except OSError as error:
        raise Failed(f"{what}: {argv[0]} can't be run: {error.strerror}") from error
    if done.returncode == 0:
        return done.stdout
    lines = tuple(line for line in (done.stderr or done.stdout).splitlines() if line.strip())
    raise Failed(f"{what}: {summary(lines) or f'exit code {done.returncode}'}", lines)


def summary(lines: Sequence[str]) -> str:
    """A program's error in one line: uv draws a chain of causes, of which the first and the last say most."""
    said = [line.strip(_MARKS) for line in lines if not line.lstrip().startswith(("warning:", "hint:"))]
    said = [line for line in said if line]
    if len(said) > 6:
        said = [*said[:2], "...", *said[-4:]]
    return without_secrets("; ".join(said))[:_MOST_LETTERS]
