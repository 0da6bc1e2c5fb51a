"""GPU facts that SGLang doesn't tell: through NVML where there is one, else nvidia-smi."""

from __future__ import annotations

from ddtree_ops.exporter.metric import Subject

_HOST = Subject("gpus")
_GPU = Subject("gpus", ("gpu",), most=32)
_RELEASES = Subject("releases")

COUNT = _HOST.gauge("gpus_seen", "GPUs that the driver shows.")
EXPECTED = _RELEASES.gauge(
    "gpus_expected", "GPUs that the release that serves, else the current one, needs; absent without a release."
)
INFO = _GPU.gauge("gpu_info", "1; what each GPU is.", "name", "driver", "pci")
USED = _GPU.gauge("gpu_memory_used_bytes", "Used GPU memory.")
MEMORY = _GPU.gauge("gpu_memory_size_bytes", "GPU memory.")
BUSY = _GPU.gauge("gpu_utilization_ratio", "Part of the last sample period in which a kernel ran, 0 to 1.")
TEMPERATURE = _GPU.gauge("gpu_temperature_celsius", "Temperature of the GPU.")
POWER = _GPU.gauge("gpu_power_watts", "Power draw.")
POWER_LIMIT = _GPU.gauge("gpu_power_limit_watts", "Enforced power limit.")
THROTTLED = _GPU.gauge(
    "gpu_throttled", "1 while clocks are held down by this reason (power, thermal, hardware, other).", "reason", most=128
)
ECC = _GPU.counter("gpu_ecc_errors_total", "Aggregate ECC errors (corrected, uncorrected).", "type", most=64)
REMAP = _GPU.gauge("gpu_rows_remap_pending", "1 if a row of memory waits for a reset to be remapped; 0 else.")
REMAP_FAILED = _GPU.gauge("gpu_rows_remap_failed", "1 if remapping failed: the board has to be replaced.")
PCIE_WIDTH = _GPU.gauge("gpu_pcie_link_width_lanes", "PCIe lanes in use.")
PCIE_GENERATION = _GPU.gauge("gpu_pcie_link_generation", "PCIe generation in use; lower than it could be while the GPU is idle.")
NVLINKS = _GPU.gauge("gpu_nvlinks_active", "NVLinks that are up; absent without NVLink.")
