"""The driver's own library (NVML, developer.nvidia.com/nvml: nvml.h), through nvidia-ml-py's module pynvml.

    python -m ddtree_ops.exporter.gpus.nvml        prints one reading as JSON; exit code 3: there is no such library

A process of its own for each reading: open, the library takes 25 MB and keeps the GPUs open, so that none could be reset
(nvidia-smi(1), --gpu-reset), and a driver that hangs takes along whoever asks it.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from ddtree_ops.exporter.gpus.facts import GpuFacts, Reading
from ddtree_ops.exporter.gpus.pci import PciAddress

LIBRARY = "libnvidia-ml.so.1"
MOST_LINKS = 36  # NVML_NVLINK_MAX_LINKS; a GPU says when it has no more
# nvmlClocksEventReasons: masks of nvml.h. 0x1 is idling, which holds nothing down.
_IDLE = 0x1
_REASONS = {"power": 0x4 | 0x80, "thermal": 0x20 | 0x40, "hardware": 0x8}
NO_LIBRARY = 3


def load() -> Any | None:
    """The module pynvml, where both it and the driver's library are there; else None."""
    try:
        ctypes.CDLL(LIBRARY)
        return importlib.import_module("pynvml")
    except (OSError, ImportError):
        return None


class Nvml:
    """Reads all GPUs of this host."""

    def __init__(self, library: Any) -> None:
        self._nvml = library

    def read(self) -> Reading:
        """What every GPU that answers tells. Raises the library's NVMLError, also for a driver that isn't loaded."""
        nvml = self._nvml
        nvml.nvmlInit()
        driver, number = _text(nvml.nvmlSystemGetDriverVersion()), nvml.nvmlDeviceGetCount()
        found = map(self._gpu, range(number))
        return Reading(driver, tuple(gpu for gpu in found if gpu is not None))

    def _gpu(self, index: int) -> GpuFacts | None:
        nvml = self._nvml
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            name, pci = _text(nvml.nvmlDeviceGetName(handle)), nvml.nvmlDeviceGetPciInfo(handle)
        except nvml.NVMLError:
            return None
        if self._is_lost(handle):
            return None
        ask: Callable[..., Any] = partial(self._ask, handle)
        memory, remapped = self._memory(handle), ask("GetRemappedRows")
        return GpuFacts(
            index=index,
            name=name,
            pci=str(PciAddress.parse(_text(pci.busId)) or ""),
            used=memory and float(memory.used),
            memory=memory and float(memory.total),
            busy=_scaled(getattr(ask("GetUtilizationRates"), "gpu", None), 100),
            temperature=ask("GetTemperature", nvml.NVML_TEMPERATURE_GPU),
            power=_scaled(ask("GetPowerUsage"), 1000),
            power_limit=_scaled(ask("GetEnforcedPowerLimit"), 1000),
            throttled=_reasons(ask("GetCurrentClocksThrottleReasons")),
            ecc=self._ecc(handle),
            remap_pending=remapped and bool(remapped[2]),
            remap_failed=remapped and bool(remapped[3]),
            pcie_width=ask("GetCurrPcieLinkWidth"),
            pcie_generation=ask("GetCurrPcieLinkGeneration"),
            nvlinks=self._nvlinks(handle),
        )

    def _is_lost(self, handle: Any) -> bool:
        """Of a GPU that fell off the bus the driver still knows the name, but it can't ask it anything."""
        nvml = self._nvml
        try:
            nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
        except nvml.NVMLError as error:
            return error.value in (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED, nvml.NVML_ERROR_UNKNOWN)
        return False

    def _ask(self, handle: Any, name: str, *arguments: Any) -> Any:
        """None for what this GPU doesn't tell, or a library that is older than the question."""
        try:
            return getattr(self._nvml, f"nvmlDevice{name}")(handle, *arguments)
        except (self._nvml.NVMLError, AttributeError):
            return None

    def _memory(self, handle: Any) -> Any:
        """The second version leaves out what the driver reserves, as nvidia-smi does; older drivers have the first alone."""
        newer = self._ask(handle, "GetMemoryInfo", getattr(self._nvml, "nvmlMemory_v2", None))
        return newer if newer is not None else self._ask(handle, "GetMemoryInfo")

    def _ecc(self, handle: Any) -> dict[str, float]:
        nvml = self._nvml
        kinds = {"corrected": nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, "uncorrected": nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED}
        asked = {kind: self._ask(handle, "GetTotalEccErrors", code, nvml.NVML_AGGREGATE_ECC) for kind, code in kinds.items()}
        return {kind: float(count) for kind, count in asked.items() if count is not None}

    def _nvlinks(self, handle: Any) -> float | None:
        """Links that are up; None if the GPU knows no first link."""
        states = []
        for link in range(MOST_LINKS):
            state = self._ask(handle, "GetNvLinkState", link)
            if state is None:
                break
            states.append(state)
        return float(sum(state == self._nvml.NVML_FEATURE_ENABLED for state in states)) if states else None


def _reasons(mask: int | None) -> frozenset[str] | None:
    if mask is None:
        return None
    found = {reason for reason, bits in _REASONS.items() if mask & bits}
    rest = mask & ~_IDLE & ~sum(_REASONS.values())
    return frozenset(found | {"other"} if rest else found)


def _scaled(value: float | None, divisor: float) -> float | None:
    return None if value is None else value / divisor


def _text(value: str | bytes) -> str:
    """Bytes in older versions of the module."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def main() -> int:
    library = load()
    if library is None:
        return NO_LIBRARY
    try:
        sys.stdout.write(Nvml(library).read().to_json())
    except library.NVMLError as error:
        sys.stderr.write(f"NVML: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
