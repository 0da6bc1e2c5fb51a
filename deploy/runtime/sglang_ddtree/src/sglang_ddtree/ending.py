"""How a start or a run ended, and what is said about it."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from .eta import Outcome
from .exit_codes import ExitCode


@dataclass(frozen=True, slots=True)
class Ending:
    """The launcher's exit code, the boot record's outcome, and the text of STATUS=."""

    code: ExitCode
    outcome: Outcome
    status: str


_REFUSALS = (1, 2, ExitCode.REFUSED)  # an exception, argparse, serve's own


def after_exit(returncode: int, *, ranks_began: bool, crash: str, last_line: str) -> Ending:
    """Judge the exit of a server that nobody asked to stop.

    Once the ranks exist, SGLang's main process ends itself with SIGKILL whatever happened, so its status only tells
    something before that: then 1 and 2 mean arguments that can't be.
    """
    if crash:
        return Ending(ExitCode.CRASHED, Outcome.CRASHED, f"crashed: {crash}")
    if returncode in _REFUSALS and not ranks_began:
        return Ending(ExitCode.REFUSED, Outcome.REFUSED, f"refused: {last_line or describe(returncode)}")
    return Ending(ExitCode.CRASHED, Outcome.CRASHED, f"crashed: {describe(returncode)}")


def describe(returncode: int) -> str:
    """`server exited with status 3`, or `server was killed by SIGKILL`."""
    if returncode >= 0:
        return f"server exited with status {returncode}"
    try:
        return f"server was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"server was killed by signal {-returncode}"
