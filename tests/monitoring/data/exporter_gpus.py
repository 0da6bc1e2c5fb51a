"""A tick as the exporter's samples of the GPUs. On b300 number 3 throttles, gathers errors, and is lost."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ddtree_ops.exporter.catalogue import gpus
from ddtree_ops.exporter.metric import Sample
from tests.monitoring.data.walk import Tick

REASONS = ("power", "thermal", "hardware", "other")


def gpu_samples(tick: Tick) -> Iterator[Sample]:
    """All GPUs that the driver still shows."""
    seen = tick.now.gpus_seen
    yield Sample(gpus.COUNT, seen)
    yield Sample(gpus.EXPECTED, 8.0)
    for index in range(8):
        if seen == 8 or index != 3:
            yield from _gpu(tick, index)


def _gpu(tick: Tick, index: int) -> Iterator[Sample]:
    host, now, gpu = tick.host, tick.now, str(index)
    sick = host.name == "b300" and index == 3 and now.minute > 130
    busy = min(1.0, now.load * 1.02) if now.serving else 0.05
    wave = math.sin(now.minute * 0.8 + index)
    yield Sample(gpus.INFO, 1.0, (gpu, host.gpu_name, "580.95.05", f"0000:{index + 1:02x}:00.0"))
    held = 0.93 if now.serving else 0.02 + 0.8 * (now.progress or 0.0)
    yield Sample(gpus.USED, host.gpu_bytes * held, (gpu,))
    yield Sample(gpus.MEMORY, host.gpu_bytes, (gpu,))
    yield Sample(gpus.BUSY, busy, (gpu,))
    yield Sample(gpus.TEMPERATURE, round(36 + 36 * busy + 2 * wave + (19 if sick else index * 0.5)), (gpu,))
    yield Sample(gpus.POWER, host.power_limit * (0.14 + 0.68 * busy + 0.02 * wave), (gpu,))
    yield Sample(gpus.POWER_LIMIT, host.power_limit, (gpu,))
    for reason in REASONS:
        slowed = (reason == "thermal" and sick) or (reason == "power" and busy > 0.93 and index % 2 == 0)
        yield Sample(gpus.THROTTLED, float(slowed), (gpu, reason))
    for kind in ("corrected", "uncorrected"):
        errors = (4.0 if kind == "corrected" else 1.0) if sick and now.minute > 145 else 0.0
        yield Sample(gpus.ECC, errors, (gpu, kind))
    yield Sample(gpus.REMAP, float(sick), (gpu,))
    yield Sample(gpus.REMAP_FAILED, 0.0, (gpu,))
    yield Sample(gpus.PCIE_WIDTH, 8.0 if sick else 16.0, (gpu,))
    yield Sample(gpus.PCIE_GENERATION, 5.0, (gpu,))
    if host.name == "b300":
        yield Sample(gpus.NVLINKS, 17.0 if sick else 18.0, (gpu,))
