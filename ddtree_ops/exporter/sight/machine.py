"""The parts of a HostSight that belong to the machine and not to one server."""

from __future__ import annotations

from ddtree_ops.exporter.catalogue import failures, releases
from ddtree_ops.exporter.catalogue import gpus as metrics
from ddtree_ops.exporter.sight.model import Deploy, Gpu, HostSight
from ddtree_ops.exporter.sight.readings import Readings
from ddtree_ops.exporter.snapshot import Snapshot


def machine(readings: Readings) -> HostSight:
    """All of it, of a host without name and servers."""
    return HostSight(
        host="",
        servers=(),
        gpus=_gpus(readings),
        gpus_seen=readings.count(metrics.COUNT),
        gpus_expected=readings.count(metrics.EXPECTED),
        drift=_drift(readings),
        deploys=_deploys(readings),
        deadline=readings.value(releases.DEADMAN),
        smoke=readings.flag(releases.SMOKE),
        gate=readings.flag(releases.GATE),
        gate_length=readings.value(releases.GATE_LENGTH),
    )


def _gpus(readings: Readings) -> tuple[Gpu, ...]:
    """Every GPU that any family tells of, by index."""
    found = {sample.labels[0] for metric in (metrics.INFO, metrics.USED, metrics.BUSY) for sample in readings.series(metric)}
    return tuple(_gpu(readings, index) for index in sorted(found, key=lambda index: (len(index), index)))


def _gpu(readings: Readings, index: str) -> Gpu:
    info = readings.first(metrics.INFO, index)
    return Gpu(
        index=index,
        name=info.labels[1] if info else None,
        used=readings.value(metrics.USED, index),
        memory=readings.value(metrics.MEMORY, index),
        busy=readings.value(metrics.BUSY, index),
        temperature=readings.value(metrics.TEMPERATURE, index),
        power=readings.value(metrics.POWER, index),
        power_limit=readings.value(metrics.POWER_LIMIT, index),
        troubles=_troubles(readings, index),
    )


def _troubles(readings: Readings, index: str) -> tuple[str, ...]:
    told = [f"throttled by {sample.labels[1]}" for sample in readings.series(metrics.THROTTLED, index) if sample.value == 1]
    uncorrected = readings.count(metrics.ECC, index, "uncorrected")
    if uncorrected:
        told.append(f"{uncorrected} uncorrected ECC errors")
    if readings.flag(metrics.REMAP_FAILED, index):
        told.append("a row can't be remapped")
    elif readings.flag(metrics.REMAP, index):
        told.append("a row waits for a reset")
    told.extend(f"Xid {sample.labels[1]}" for sample in readings.series(failures.XID, index) if sample.value > 0)
    return tuple(told)


def _drift(readings: Readings) -> tuple[tuple[str, int], ...] | None:
    """What differs, by kind; None if nobody has looked yet."""
    found = [(sample.labels[0], int(sample.value)) for sample in readings.series(releases.DRIFT)]
    if not found and readings.value(releases.DRIFT_CHECKED) is None:
        return None
    return tuple((what, count) for what, count in found if count > 0)


def _deploys(readings: Readings) -> tuple[Deploy, ...]:
    """The newest first."""
    found = [
        Deploy(
            event,
            result,
            readings.count(releases.DEPLOYS, event, result),
            sample.value,
            readings.value(releases.DEPLOY_SECONDS, event),
        )
        for sample in readings.series(releases.DEPLOY_LAST)
        for event, result in [sample.labels]
    ]
    return tuple(sorted(found, key=lambda one: -(one.last or 0)))


def blind(snapshot: Snapshot | None) -> tuple[str, ...]:
    """Collectors whose last reading failed."""
    return tuple(sorted(name for name, state in snapshot.states.items() if not state.success)) if snapshot else ()
