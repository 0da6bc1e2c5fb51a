"""GPU facts that SGLang doesn't tell: through NVML where there is one, else nvidia-smi."""

from __future__ import annotations

from ddtree_ops.exporter.metric import PREFIX, Metric, Type

COUNT = Metric(PREFIX + "gpus_seen", Type.GAUGE, "GPUs that the driver shows.", "gpus", most=1)
EXPECTED = Metric(
    PREFIX + "gpus_expected",
    Type.GAUGE,
    "GPUs that the release that serves, else the current one, needs; absent without a release.",
    "releases",
    most=1,
)
INFO = Metric(PREFIX + "gpu_info", Type.GAUGE, "1; what each GPU is.", "gpus", ("gpu", "name", "driver", "pci"), most=32)
USED = Metric(PREFIX + "gpu_memory_used_bytes", Type.GAUGE, "Used GPU memory.", "gpus", ("gpu",), most=32)
MEMORY = Metric(PREFIX + "gpu_memory_size_bytes", Type.GAUGE, "GPU memory.", "gpus", ("gpu",), most=32)
BUSY = Metric(
    PREFIX + "gpu_utilization_ratio",
    Type.GAUGE,
    "Part of the last sample period in which a kernel ran, 0 to 1.",
    "gpus",
    ("gpu",),
    most=32,
)
TEMPERATURE = Metric(PREFIX + "gpu_temperature_celsius", Type.GAUGE, "Temperature of the GPU.", "gpus", ("gpu",), most=32)
POWER = Metric(PREFIX + "gpu_power_watts", Type.GAUGE, "Power draw.", "gpus", ("gpu",), most=32)
POWER_LIMIT = Metric(PREFIX + "gpu_power_limit_watts", Type.GAUGE, "Enforced power limit.", "gpus", ("gpu",), most=32)
THROTTLED = Metric(
    PREFIX + "gpu_throttled",
    Type.GAUGE,
    "1 while clocks are held down by this reason (power, thermal, hardware, other).",
    "gpus",
    ("gpu", "reason"),
    most=128,
)
ECC = Metric(
    PREFIX + "gpu_ecc_errors_total",
    Type.COUNTER,
    "Aggregate ECC errors (corrected, uncorrected).",
    "gpus",
    ("gpu", "type"),
    most=64,
)
REMAP = Metric(
    PREFIX + "gpu_rows_remap_pending",
    Type.GAUGE,
    "1 if a row of memory waits for a reset to be remapped; 0 else.",
    "gpus",
    ("gpu",),
    most=32,
)
REMAP_FAILED = Metric(
    PREFIX + "gpu_rows_remap_failed",
    Type.GAUGE,
    "1 if remapping failed: the board has to be replaced.",
    "gpus",
    ("gpu",),
    most=32,
)
PCIE_WIDTH = Metric(PREFIX + "gpu_pcie_link_width_lanes", Type.GAUGE, "PCIe lanes in use.", "gpus", ("gpu",), most=32)
PCIE_GENERATION = Metric(
    PREFIX + "gpu_pcie_link_generation",
    Type.GAUGE,
    "PCIe generation in use; lower than it could be while the GPU is idle.",
    "gpus",
    ("gpu",),
    most=32,
)
NVLINKS = Metric(
    PREFIX + "gpu_nvlinks_active", Type.GAUGE, "NVLinks that are up; absent without NVLink.", "gpus", ("gpu",), most=32
)

ALL = (
    COUNT,
    EXPECTED,
    INFO,
    USED,
    MEMORY,
    BUSY,
    TEMPERATURE,
    POWER,
    POWER_LIMIT,
    THROTTLED,
    ECC,
    REMAP,
    REMAP_FAILED,
    PCIE_WIDTH,
    PCIE_GENERATION,
    NVLINKS,
)
