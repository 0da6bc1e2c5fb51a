"""Passes in this process, over a host that is reached by its shell: for the controller mode, where memory isn't short."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ddtree_ops.exporter import state_file
from ddtree_ops.ports import Shell


def journal_passes(shell: Shell, directory: Path) -> Callable[[str], Callable[[], None]]:
    """For JournalCollector's `passes`."""

    def of_unit(unit: str) -> Callable[[], None]:
        def run() -> None:
            from ddtree_ops.exporter.journal.one_pass import Pass  # noqa: PLC0415  # all of triage

            with state_file.alone(state_file.of_unit(directory, unit)) as is_alone:
                if is_alone:
                    Pass(shell, unit, directory).run()

        return run

    return of_unit


def kernel_pass(shell: Shell, directory: Path) -> Callable[[], None]:
    """For KernelCollector's `run`."""

    def run() -> None:
        from ddtree_ops.exporter.kernel import one_pass as one  # noqa: PLC0415
        from ddtree_ops.exporter.kernel.state import FILE  # noqa: PLC0415

        with state_file.alone(directory / FILE) as is_alone:
            if is_alone:
                one.run(shell, directory)

    return run
