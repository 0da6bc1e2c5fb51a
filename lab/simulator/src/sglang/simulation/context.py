"""What one rank's process carries through its classes: its settings, GPU memory, peers, and the phase it is in."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

from sglang.simulation.gpu import GpuMemory
from sglang.simulation.group import ProcessGroup
from sglang.simulation.moments import note
from sglang.simulation.settings import Settings

# A draft model has its own round of phases, much shorter than the target's.
DRAFT_SHARE = 0.1
# Kernels are compiled on a part of one core, in turns of so many seconds.
_COMPILE_SHARE = 0.1
_COMPILE_TURN = 0.2


@dataclass
class RankContext:
    """One rank. `size` is the number of ranks; `phase` the phase that faults are matched against."""

    rank: int
    size: int
    settings: Settings
    gpu: GpuMemory
    group: ProcessGroup
    has_draft: bool
    phase: str = "distributed_init"
    served: int = 0  # requests decoded since the warm-up

    def seconds(self, phase: str, *, is_draft: bool) -> float:
        """How long this round of a phase takes."""
        total = self.settings.phase_seconds[phase]
        if not self.has_draft:
            return total
        return total * (DRAFT_SHARE if is_draft else 1 - DRAFT_SHARE)

    def enter(self, phase: str) -> None:
        """Note the phase and let the faults happen that are due in it."""
        self.phase = phase
        self.meet_faults()

    def meet_faults(self) -> None:
        """Let the faults happen that are due in the present phase. They may kill, hang or raise."""
        if self._due("kill_rank"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self._due("hang"):
            note(self.settings.moments, "hang")
            hang()
        if self._due("oom"):
            raise self.gpu.out_of_memory(3.25)
        if self._due("crash"):
            raise RuntimeError(f"simulated failure in phase {self.phase} (SIM_FAULT=crash:{self.phase})")

    def _due(self, name: str) -> bool:
        fault = self.settings.fault(name, self.phase, self.rank)
        return fault is not None and (self.phase != "serving" or self.served >= fault.amount)


def hang() -> None:
    """Wait for ever without using the processor."""
    while True:
        signal.pause()


def compile_until(deadline: float) -> None:
    """As `sleep_until`, with some of the processor's time: a first graph capture is silent because it compiles."""
    while time.monotonic() < deadline:
        enough = time.thread_time() + _COMPILE_SHARE * _COMPILE_TURN
        while time.thread_time() < enough and time.monotonic() < deadline:
            continue
        sleep_until(min(deadline, time.monotonic() + (1 - _COMPILE_SHARE) * _COMPILE_TURN))


def sleep_until(deadline: float) -> None:
    """Sleep to a time of the monotonic clock."""
    time.sleep(max(0.0, deadline - time.monotonic()))
