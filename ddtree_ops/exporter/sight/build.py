"""From a snapshot to a HostSight. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ddtree_ops.exporter.catalogue import failures as catalogue_failures
from ddtree_ops.exporter.catalogue import releases, server, speculation, unit
from ddtree_ops.exporter.sight.history import Rates
from ddtree_ops.exporter.sight.machine import blind, machine
from ddtree_ops.exporter.sight.model import RANK, Boot, Failure, HostSight, Load, Server, Settings, State, Traffic
from ddtree_ops.exporter.sight.readings import Observed, Readings
from ddtree_ops.exporter.sight.state import judge
from ddtree_ops.units.phases import Phase

# Units are read every few seconds; what is older than this is told as old, and sooner where the last reading failed.
STALE_SECONDS = 30.0
STALE_FAILED_SECONDS = 10.0
_PHASES = tuple(Phase)


def sight(
    observed: Observed, now: float, rates: Mapping[str, Rates] | None = None, readings: Readings | None = None
) -> HostSight:
    """What the observer's snapshot comes to at `now` (Unix seconds), with rates by port from history."""
    readings = readings or Readings(observed.snapshot)
    unread, read = units_read(observed)
    servers = tuple(
        _server(readings, port, (rates or {}).get(port, Rates()), observed, now) for port in readings.ports(unit.STATE)
    )
    found = tuple(sorted(servers, key=lambda one: (RANK[one.state], one.port or 0))) or (_nothing(observed, unread),)
    return replace(
        readings.reuse("machine", lambda: machine(readings)),
        host=observed.host,
        servers=found,
        hardware=observed.hardware,
        blind=blind(observed.snapshot),
        problem=observed.problem,
        stale=is_stale(observed, now),
        read=read,
    )


def units_read(observed: Observed) -> tuple[bool, float | None]:
    """Whether the last reading of the units failed, or there was none; and when one last succeeded."""
    state = observed.snapshot.states.get("unit") if observed.snapshot else None
    return (True, None) if state is None else (not state.success, state.last_success)


def is_stale(observed: Observed, now: float) -> bool:
    """What is shown is how it was, and not how it is."""
    unread, read = units_read(observed)
    if read is None or observed.problem:
        return True
    return now - read > (STALE_FAILED_SECONDS if unread else STALE_SECONDS)


def _nothing(observed: Observed, unread: bool) -> Server:
    """That there is no server is known only from a reading that succeeded."""
    settings = Settings(model=observed.model)
    if observed.problem:
        return Server(None, State.UNREACHABLE, settings=settings)
    return Server(None, State.UNKNOWN if unread else State.ABSENT, settings=settings)


def _server(readings: Readings, port: str, rates: Rates, observed: Observed, now: float) -> Server:
    known = readings.reuse(f"unit {port}", lambda: _unit(readings, port))
    failures = readings.reuse(f"failures {port}", lambda: _failures(readings, port))
    settings = readings.reuse(f"settings {port}", lambda: _settings(readings, port))
    traffic = _traffic(readings, port, rates)
    state, reason = (State.UNREACHABLE, "") if observed.problem else judge(known, traffic, failures, now)
    return replace(
        known,
        state=state,
        reason=reason,
        boot=readings.reuse(f"boot {port}", lambda: _boot(readings, port)),
        traffic=traffic,
        settings=settings if settings.model else replace(settings, model=observed.model),
        failures=failures,
    )


def _unit(readings: Readings, port: str) -> Server:
    """What systemd and the launcher tell."""
    return Server(
        port=int(port) if port.isascii() and port.isdigit() else None,
        state=State.UNKNOWN,
        unit=readings.chosen(unit.STATE, port),
        started=readings.value(unit.STARTED, port),
        restarts=readings.count(unit.RESTARTS, port),
        exit_code=readings.count(unit.LAST_EXIT_CODE, port),
        result=readings.chosen(unit.LAST_RESULT, port),
        load=_load(readings, port),
    )


def _load(readings: Readings, port: str) -> Load:
    progress = readings.value(unit.LOAD_PROGRESS, port)
    return Load(
        phase=readings.chosen(unit.PHASE, port),
        progress=None if progress is None else min(1.0, max(0.0, progress)),
        eta=readings.value(unit.LOAD_ETA, port),
        elapsed=readings.value(unit.LOAD_ELAPSED, port),
        usual=readings.value(unit.LOAD_USUAL, port),
        moved=readings.value(unit.LAST_PROGRESS, port),
    )


def _boot(readings: Readings, port: str) -> Boot:
    segments = [(sample.labels[1], sample.value) for sample in readings.series(unit.BOOT_SEGMENT, port) if sample.value >= 0]
    return Boot(
        segments=tuple(sorted(segments, key=lambda one: _place(one[0]))),
        seconds=readings.value(unit.BOOT_SECONDS, port),
        outcomes=tuple((sample.labels[1], int(sample.value)) for sample in readings.series(unit.BOOTS, port)),
    )


def _place(segment: str) -> tuple[int, bool, int]:
    """Draft segments come after the target's middle phases and before the warm-up (units.phases)."""
    draft = segment.startswith("draft_")
    phase = segment.removeprefix("draft_")
    index = next((index for index, known in enumerate(_PHASES) if known == phase), len(_PHASES))
    return (1 if draft else 2 if index > _PHASES.index(Phase.GRAPH_CAPTURE) else 0), draft, index


def _traffic(readings: Readings, port: str, rates: Rates) -> Traffic:
    return Traffic(
        running=readings.count(server.RUNNING, port),
        queued=readings.count(server.QUEUED, port),
        kv_used=readings.value(server.KV_USED, port),
        answers=readings.flag(server.HTTP_UP, port),
        healthy=readings.flag(server.HEALTH, port),
        silent_since=rates.silent_since,
        tokens=rates.tokens,
        acceptance=rates.acceptance,
        tokens_series=rates.tokens_series,
        acceptance_series=rates.acceptance_series,
    )


def _settings(readings: Readings, port: str) -> Settings:
    roles = {sample.labels[1]: sample.labels[2] for sample in readings.series(releases.INFO, port) if sample.value == 1}
    told = readings.first(releases.SETTINGS, port)
    names = dict(zip(releases.SETTINGS.labels, told.labels, strict=True)) if told else {}
    return Settings(
        serving=roles.get("serving"),
        current=roles.get("current"),
        last_good=roles.get("last_good"),
        model=names.get("model") or None,
        draft_model=names.get("draft_model") or None,
        algorithm=names.get("algorithm") or None,
        tensor_parallel=names.get("tensor_parallel") or None,
        budget=readings.count(speculation.BUDGET, port),
        block=readings.count(speculation.BLOCK, port),
    )


def _failures(readings: Readings, port: str) -> tuple[Failure, ...]:
    info = {sample.labels[1]: sample.labels for sample in readings.series(catalogue_failures.INFO, port)}
    found = []
    for sample in readings.series(catalogue_failures.LAST, port):
        _, name, kind, role = sample.labels
        cause, fix = info[name][3:5] if name in info else ("", "")
        count = readings.count(catalogue_failures.COUNT, port, name)
        found.append(Failure(name, kind, role, sample.value, count, cause, fix))
    return tuple(sorted(found, key=lambda one: -one.last))
