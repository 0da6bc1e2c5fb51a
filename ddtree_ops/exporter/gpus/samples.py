"""The samples of one reading of the GPUs; nothing for what isn't known."""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_ops.exporter.catalogue import gpus as catalogue
from ddtree_ops.exporter.gpus.facts import GpuFacts, Reading
from ddtree_ops.exporter.metric import Metric, Sample

REASONS = ("power", "thermal", "hardware", "other")
_MOST_GPUS = 32
_LONGEST = 80


def samples(reading: Reading) -> Iterator[Sample]:
    """At most 32 GPUs."""
    yield Sample(catalogue.COUNT, len(reading.gpus))
    for gpu in reading.gpus[:_MOST_GPUS]:
        labels = (str(gpu.index), gpu.name[:_LONGEST], reading.driver[:_LONGEST], gpu.pci[:_LONGEST])
        yield Sample(catalogue.INFO, 1, labels)
        yield from _of(gpu)


def _of(gpu: GpuFacts) -> Iterator[Sample]:
    index = (str(gpu.index),)
    single: tuple[tuple[Metric, float | None], ...] = (
        (catalogue.USED, gpu.used),
        (catalogue.MEMORY, gpu.memory),
        (catalogue.BUSY, gpu.busy),
        (catalogue.TEMPERATURE, gpu.temperature),
        (catalogue.POWER, gpu.power),
        (catalogue.POWER_LIMIT, gpu.power_limit),
        (catalogue.REMAP, gpu.remap_pending),
        (catalogue.REMAP_FAILED, gpu.remap_failed),
        (catalogue.PCIE_WIDTH, gpu.pcie_width),
        (catalogue.PCIE_GENERATION, gpu.pcie_generation),
        (catalogue.NVLINKS, gpu.nvlinks),
    )
    for metric, value in single:
        if value is not None:
            yield Sample(metric, float(value), index)
    if gpu.throttled is not None:
        for reason in REASONS:
            yield Sample(catalogue.THROTTLED, float(reason in gpu.throttled), (*index, reason))
    for kind, count in sorted(gpu.ecc.items()):
        yield Sample(catalogue.ECC, count, (*index, kind))
