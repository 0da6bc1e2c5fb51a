"""Runs passes over journals, never two over one state: as processes of their own, or here.

A child, so that the exporter of a host needn't hold triage's code and tables in memory; a controller's memory isn't short.

    python -P -m ddtree_ops.exporter.passes --state DIR [--unit ddtree-server@30000.service]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ddtree_ops.adapters.local import LocalShell
from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter import state_file
from ddtree_ops.ports import Command, Shell

#: How a pass is run: over the journal of a unit, or over the kernel's log (None). Raises DdtreeOpsError, OSError.
Passes = Callable[[str | None], object]
_SECONDS = 1800.0
_NICE = 10


def here(shell: Shell, directory: Path, wall: Callable[[], float] | None = None) -> Passes:
    """In this process. `wall`: the host's clock, if it is ours, too."""
    return partial(_run, shell, directory, wall)


def children(shell: Shell, directory: Path) -> Passes:
    """As processes on this machine."""
    return partial(_run_child, shell, directory)


def _run(shell: Shell, directory: Path, wall: Callable[[], float] | None, unit: str | None) -> None:
    """Nothing, where another pass is at it."""
    path = state_file.of_unit(directory, unit) if unit else directory / state_file.KERNEL
    with state_file.alone(path) as is_alone:
        if is_alone and unit:
            from ddtree_ops.exporter.journal.one_pass import Pass  # noqa: PLC0415  # all of triage

            Pass(shell, unit, directory, wall=wall).run()
        elif is_alone:
            from ddtree_ops.exporter.kernel import one_pass  # noqa: PLC0415

            one_pass.run(shell, directory)


def _run_child(shell: Shell, directory: Path, unit: str | None) -> None:
    words = ("--unit", unit) if unit else ()
    # the child has another working directory than ours
    argv = (sys.executable, "-P", "-m", "ddtree_ops.exporter.passes", "--state", str(directory.absolute()), *words)
    shell.run(Command(argv, timeout=_SECONDS, most_bytes=1 << 16))


def main() -> int:
    """Exit 0: done, or another pass is at it; 1: the journal can't be read, or the state not written."""
    import argparse  # noqa: PLC0415 - only for this process: the exporter imports us, and is to stay small

    parser = argparse.ArgumentParser(prog="python -m ddtree_ops.exporter.passes")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--unit")
    asked = parser.parse_args()
    os.nice(_NICE)
    try:
        here(LocalShell(), asked.state, time.time)(asked.unit)
    except (DdtreeOpsError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
