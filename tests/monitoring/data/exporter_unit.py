"""A tick as the exporter's samples of unit, boots, server and itself."""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_ops.exporter.catalogue import exporter, server, unit
from ddtree_ops.exporter.metric import Metric, Sample
from ddtree_ops.units.phases import Phase
from ddtree_ops.units.systemctl import Active
from tests.monitoring.data.scenario import PORT, START
from tests.monitoring.data.walk import Tick, running

RESULTS = ("success", "exit-code", "signal", "core-dump", "timeout", "watchdog", "oom-kill", "start-limit-hit")
COLLECTORS = ("unit", "boots", "server", "releases", "drift", "deploys", "journal", "kernel", "gpus")
SEGMENTS = (
    ("arguments", 11.0),
    ("distributed_init", 19.0),
    ("weights", 205.0),
    ("kv_cache", 9.0),
    ("draft_weights", 31.0),
    ("draft_kv_cache", 3.0),
    ("graph_capture", 98.0),
    ("draft_graph_capture", 22.0),
    ("warmup", 17.0),
)


def one_hot(metric: Metric, names: tuple[str, ...], now: str) -> Iterator[Sample]:
    """1 for the name that holds, 0 for the others."""
    for name in names:
        yield Sample(metric, float(name == now), (PORT, name))


def unit_samples(tick: Tick) -> Iterator[Sample]:
    """unit and boots."""
    now = tick.now
    crashed = tick.restarts > 0
    yield from one_hot(unit.STATE, tuple(Active), now.unit)
    yield Sample(unit.RESTARTS, tick.restarts, (PORT,))
    yield Sample(unit.LAST_EXIT_CODE, 70.0 if crashed else 0.0, (PORT,))
    yield from one_hot(unit.LAST_RESULT, RESULTS, "exit-code" if crashed and not now.serving else "success")
    if tick.started is not None:
        yield Sample(unit.STARTED, tick.started, (PORT,))
    yield Sample(unit.READY, float(now.serving), (PORT,))
    yield from one_hot(unit.PHASE, (*Phase, "none"), now.phase or "none")
    yield from _load(tick)
    yield Sample(unit.LOAD_USUAL, sum(seconds for _, seconds in SEGMENTS), (PORT,))
    for segment, seconds in SEGMENTS:
        yield Sample(unit.BOOT_SEGMENT, seconds * (1.6 if tick.host.name == "b300" else 1.0), (PORT, segment))
    yield Sample(unit.BOOT_SECONDS, sum(seconds for _, seconds in SEGMENTS), (PORT,))
    for outcome, count in (("ready", 9), ("crashed", tick.restarts), ("stalled", 0), ("stopped", 1), ("refused", 0)):
        yield Sample(unit.BOOTS, count, (PORT, outcome))


def _load(tick: Tick) -> Iterator[Sample]:
    now = tick.now
    if now.progress is None or now.load_started is None or now.last_progress is None:
        return
    yield Sample(unit.LOAD_PROGRESS, now.progress, (PORT,))
    if now.eta is not None:
        yield Sample(unit.LOAD_ETA, now.eta, (PORT,))
    yield Sample(unit.LOAD_ELAPSED, tick.time - now.load_started, (PORT,))
    yield Sample(unit.LAST_PROGRESS, now.last_progress, (PORT,))


def server_samples(tick: Tick) -> Iterator[Sample]:
    """What the server answers on its port; only health and reachability while it doesn't."""
    now = tick.now
    yield Sample(server.HTTP_UP, float(now.serving), (PORT,))
    yield Sample(server.HEALTH, float(now.serving), (PORT,))
    yield Sample(server.HEALTH_SECONDS, 0.03 + 0.4 * now.load, (PORT,))
    if now.serving:
        yield Sample(server.RUNNING, running(now), (PORT,))
        yield Sample(server.QUEUED, round(now.queued), (PORT,))
        yield Sample(server.KV_USED, now.kv_used, (PORT,))
        yield Sample(server.GENERATED, round(tick.totals.generated), (PORT,))


def own_samples(tick: Tick) -> Iterator[Sample]:
    """The exporter about itself. On ct200 the drift collector fails for a while."""
    yield Sample(exporter.BUILD, 1.0, ("0.7.0",))
    for index, name in enumerate(COLLECTORS):
        fails = name == "drift" and tick.host.name == "ct200" and 120 <= tick.now.minute < 135
        yield Sample(exporter.COLLECTOR_SUCCESS, float(not fails), (name,))
        yield Sample(exporter.COLLECTOR_DURATION, 0.004 * (index + 1), (name,))
        yield Sample(exporter.COLLECTOR_DROPPED, 0.0, (name,))
        yield Sample(exporter.COLLECTOR_LAST_SUCCESS, START + 7200 if fails else tick.time, (name,))
