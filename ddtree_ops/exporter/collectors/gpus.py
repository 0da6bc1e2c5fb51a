"""Collector `gpus`: through NVML where this host has it, else through nvidia-smi, less often."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.gpus import smi
from ddtree_ops.exporter.gpus.facts import Reading
from ddtree_ops.exporter.gpus.samples import samples
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import Target
from ddtree_ops.ports import Command

NVML_PERIOD = 60.0
SMI_PERIOD = 120.0
SECONDS = 20.0
MOST_GPUS = 16
MOST_BYTES = 1 << 20
PROGRAM = "ddtree_ops.exporter.gpus.nvml"
_NO_LIBRARY = 3


@dataclass
class GpusCollector:
    """`nvml`: whether the host is this one, so that a program of ours can ask the library."""

    target: Target
    nvml: bool = False
    name: ClassVar[str] = "gpus"

    @property
    def period(self) -> float:
        return NVML_PERIOD if self.nvml else SMI_PERIOD

    def read(self) -> Sequence[Sample]:
        """A driver without GPUs, and a host without nvidia-smi, shows 0.

        Raises SmiError, HostCommandFailed (a driver that isn't loaded, or fails), Unreachable (one that hangs).
        """
        reading = self._by_nvml() if self.nvml else None
        if reading is None:
            self.nvml = False  # a library that comes later isn't worth asking for: nvidia-smi came with it
            reading = smi.read(self.target.shell, MOST_GPUS)
        return tuple(samples(reading))

    def _by_nvml(self) -> Reading | None:
        """None where the library isn't there."""
        command = Command((sys.executable, "-m", PROGRAM), ok=frozenset({0, _NO_LIBRARY}), timeout=SECONDS, most_bytes=MOST_BYTES)
        done = self.target.shell.run(command)
        if done.exit_code == _NO_LIBRARY:
            return None
        try:
            return Reading.from_json(done.stdout)
        except (ValueError, TypeError, KeyError) as error:
            raise HostCommandFailed(f"{self.target.host}: NVML's reading is damaged: {type(error).__name__}") from error
