"""Does anything move? Log silence alone is no sign of a hang: a first graph capture is silent for a minute."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .phases import Phase, PhaseTracker
from .processes import ProcessState

_MIB = 1024 * 1024
_READ_BYTES = 256 * 1024  # sockets and pipes between the ranks are read all the time
_CPU_SHARE = 0.05  # of one core
_GPU_MIB = 8
_PAUSE_S = 60.0  # between two looks: we didn't run either (a frozen container or VM), so the server gets its time again
# Our own polls write these lines; they prove nothing.
_POLL_LINE = re.compile(r'INFO: .*"(?:GET|HEAD) /')
# Ranks that wait for each other, and schedulers that wait for a request, spin on a core: there CPU time proves nothing.
_SPINNING = (Phase.DISTRIBUTED_INIT, Phase.WARMUP, Phase.SERVING)


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the server: its processes, and the GPUs' used memory in MiB if known."""

    at: float
    processes: Mapping[int, ProcessState]
    gpu_mib: int | None = None


@dataclass(slots=True)
class Movement:
    """When something last moved, and what. `at` values are monotonic seconds."""

    last: float
    what: str = "start"
    read_bytes: int = 0
    _before: Sample | None = field(default=None, repr=False)

    def log(self, message: str, at: float) -> None:
        """A log line that isn't an answer to our own polling is movement."""
        if not _POLL_LINE.search(message):
            self._moved(at, "log")

    def sample(self, now: Sample, phase: Phase | None) -> None:
        """Compare with the sample before; `phase` is None while the journal can't be read."""
        before, self._before = self._before, now
        if before is None:
            return
        if now.at - before.at > _PAUSE_S:
            self._moved(now.at, "paused")
        read = _growth(before, now, "read_bytes")
        self.read_bytes += int(read)
        if before.processes.keys() != now.processes.keys():
            self._moved(now.at, "processes")
        if read >= _READ_BYTES:
            self._moved(now.at, f"read {read / _MIB:.0f} MiB")
        if _growth(before, now, "cpu_s") >= _CPU_SHARE * (now.at - before.at) and phase not in _SPINNING:
            self._moved(now.at, "cpu")
        if before.gpu_mib is not None and now.gpu_mib is not None and abs(now.gpu_mib - before.gpu_mib) >= _GPU_MIB:
            self._moved(now.at, "gpu memory")

    def idle_s(self, now: float) -> float:
        """Seconds since something moved."""
        return max(0.0, now - self.last)

    def _moved(self, at: float, what: str) -> None:
        if at >= self.last:
            self.last, self.what = at, what


@dataclass(slots=True)
class WeightMeter:
    """The fraction of the weights read so far, where SGLang's own bar is held back until its last newline."""

    model_bytes: int | None
    _base: int | None = None

    def update(self, tracker: PhaseTracker, read_bytes: int) -> bool:
        """Tell the tracker, if it is loading the target's weights. True if it learned something."""
        if not self.model_bytes or tracker.segment != Phase.WEIGHTS:
            self._base = None
            return False
        if self._base is None:
            self._base = read_bytes
        # 0.99: only SGLang itself knows when it is done
        return tracker.measure(min((read_bytes - self._base) / self.model_bytes, 0.99))


def _growth(before: Sample, now: Sample, name: str) -> float:
    grown = 0.0
    for pid, state in now.processes.items():
        old = before.processes.get(pid)
        grown += max(0, getattr(state, name) - (getattr(old, name) if old else 0))
    return grown
