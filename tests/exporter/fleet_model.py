"""Snapshots of hosts in every state, made of samples of the catalogue as the collectors give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ddtree_ops.exporter.catalogue import failures, gpus, releases, server, speculation, unit
from ddtree_ops.exporter.metric import Metric, Sample
from ddtree_ops.exporter.sight.readings import Observed
from ddtree_ops.exporter.snapshot import CollectorState, Snapshot

NOW = 1_790_000_000.0
STATES = ("active", "activating", "deactivating", "failed", "inactive")
PHASES = ("none", "arguments", "distributed_init", "weights", "kv_cache", "graph_capture", "warmup", "serving", "shutdown")
SEGMENTS = (
    ("arguments", 9.0),
    ("distributed_init", 6.5),
    ("weights", 301.0),
    ("kv_cache", 4.0),
    ("graph_capture", 41.0),
    ("draft_weights", 11.0),
    ("draft_graph_capture", 12.5),
    ("warmup", 7.0),
)


@dataclass(frozen=True)
class Model:
    """A host by what it shall say. `generated`, `committed` and `steps` are counters."""

    host: str
    state: str | None = "active"
    phase: str = "serving"
    port: str = "30000"
    hardware: str = "rtx-pro-6000-x8"
    model: str = "Qwen3-Coder-480B-A35B-FP8"
    release: str = "sglang-0.5.13.post1-3f9c1a7be204"
    progress: float | None = None
    eta: float | None = None
    moved: float | None = None
    running: float | None = 3
    queued: float | None = 0
    kv: float | None = 0.41
    answers: float | None = 1
    healthy: float | None = None
    generated: float | None = 0
    committed: float = 0
    steps: float = 0
    restarts: float = 0
    exit_code: float | None = None
    result: str = "success"
    drift: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[tuple[str, str, str, float], ...] = ()  # fingerprint, kind, role, seconds ago
    cause: str = "The verify graph was captured for 8 tokens a request and replayed with 33."
    fix: str = "Set speculative_num_draft_tokens to the budget + 1, or let the plugin size the graph."
    gpus: int = 8
    problem: str | None = None
    read_ago: float = 1.0
    age: float = 7200.0


def one_hot(metric: Metric, chosen: str, all_of: Iterable[str], port: str) -> list[Sample]:
    return [Sample(metric, float(name == chosen), (port, name)) for name in all_of]


def observed(model: Model, now: float = NOW) -> Observed:
    """As a controller's observer has it: without snapshot if it never was read."""
    if model.state is None and model.problem:
        return Observed(model.host, None, model.hardware, model.model, model.problem)
    samples: dict[str, list[Sample]] = {
        "unit": unit_samples(model, now),
        "boots": boot_samples(model),
        "server": server_samples(model),
        "health": health_samples(model),
        "releases": release_samples(model),
        "drift": drift_samples(model, now),
        "journal": failure_samples(model, now),
        "gpus": gpu_samples(model),
        "deploys": deploy_samples(now),
    }
    state = CollectorState(True, 0.004, now - model.read_ago)
    return Observed(
        model.host,
        Snapshot({name: tuple(values) for name, values in samples.items()}, dict.fromkeys(samples, state), now),
        model.hardware,
        model.model,
        model.problem,
    )


def read_later(found: Observed, model: Model, seconds: float) -> Observed:
    """The same host after another reading of its server: only that collector's samples are new."""
    before = found.snapshot
    assert isinstance(before, Snapshot)
    now = before.taken + seconds
    states = dict.fromkeys(before.states, CollectorState(True, 0.004, now - model.read_ago))
    fresh = {"server": tuple(server_samples(model)), "health": tuple(health_samples(model))}
    return replace(found, snapshot=Snapshot({**before.samples, **fresh}, states, now))


def unit_samples(model: Model, now: float) -> list[Sample]:
    if model.state is None:
        return []
    port = model.port
    found = one_hot(unit.STATE, model.state, STATES, port) + one_hot(unit.PHASE, model.phase, PHASES, port)
    found += one_hot(unit.LAST_RESULT, model.result, ("success", "exit-code", "signal", "timeout", "oom-kill"), port)
    found += [
        Sample(unit.RESTARTS, model.restarts, (port,)),
        Sample(unit.STARTED, now - model.age, (port,)),
        Sample(unit.READY, float(model.state == "active"), (port,)),
    ]
    told = (
        (unit.LOAD_PROGRESS, model.progress),
        (unit.LOAD_ETA, model.eta),
        (unit.LOAD_ELAPSED, model.age if model.progress is not None else None),
        (unit.LAST_PROGRESS, None if model.moved is None else now - model.moved),
        (unit.LAST_EXIT_CODE, model.exit_code),
    )
    return found + [Sample(metric, value, (port,)) for metric, value in told if value is not None]


def boot_samples(model: Model) -> list[Sample]:
    port = model.port
    return [
        *(Sample(unit.BOOT_SEGMENT, seconds, (port, name)) for name, seconds in reversed(SEGMENTS)),
        Sample(unit.BOOT_SECONDS, 392.0, (port,)),
        Sample(unit.LOAD_USUAL, 398.0, (port,)),
        Sample(unit.BOOTS, 11, (port, "ready")),
        Sample(unit.BOOTS, 2, (port, "crashed")),
    ]


def server_samples(model: Model) -> list[Sample]:
    told = (
        (server.HTTP_UP, model.answers),
        (server.RUNNING, model.running),
        (server.QUEUED, model.queued),
        (server.KV_USED, model.kv),
        (server.GENERATED, model.generated),
    )
    found = [Sample(metric, value, (model.port,)) for metric, value in told if value is not None]
    if model.generated is not None:
        found += [
            Sample(speculation.LENGTH, model.steps, (model.port,), "_bucket", "+Inf"),
            Sample(speculation.LENGTH, model.steps, (model.port,), "_count"),
            Sample(speculation.LENGTH, model.committed, (model.port,), "_sum"),
        ]
    return found


def health_samples(model: Model) -> list[Sample]:
    return [] if model.healthy is None else [Sample(server.HEALTH, model.healthy, (model.port,))]


def release_samples(model: Model) -> list[Sample]:
    draft = model.model + "-DFlash"
    return [
        *(Sample(releases.INFO, 1, (model.port, role, model.release)) for role in ("serving", "current", "last_good")),
        Sample(releases.SETTINGS, 1, (model.port, model.model, draft, "DDTREE", "8")),
        Sample(speculation.BUDGET, 32, (model.port,)),
        Sample(speculation.BLOCK, 8, (model.port,)),
        Sample(gpus.EXPECTED, 8),
    ]


def drift_samples(model: Model, now: float) -> list[Sample]:
    kinds = ("file", "unit", "link", "process", "manifest", "other")
    found = [Sample(releases.DRIFT, model.drift.get(kind, 0), (kind,)) for kind in kinds]
    return [*found, Sample(releases.DRIFT_CHECKED, now - 300)]


def failure_samples(model: Model, now: float) -> list[Sample]:
    found = []
    for name, kind, role, seconds in model.failures:
        found.append(Sample(failures.LAST, now - seconds, (model.port, name, kind, role)))
        found.append(Sample(failures.COUNT, 2, (model.port, name)))
        if role == "root":
            found.append(Sample(failures.INFO, 1, (model.port, name, kind, model.cause, model.fix)))
    return found


def gpu_samples(model: Model) -> list[Sample]:
    found = [Sample(gpus.COUNT, model.gpus)]
    for index in map(str, range(model.gpus)):
        found += [
            Sample(gpus.INFO, 1, (index, "NVIDIA RTX PRO 6000 Blackwell", "580.95", f"00000000:{index}1:00.0")),
            Sample(gpus.USED, 88.5 * (1 << 30), (index,)),
            Sample(gpus.MEMORY, 95.6 * (1 << 30), (index,)),
            Sample(gpus.BUSY, 0.5 + int(index) / 20, (index,)),
            Sample(gpus.TEMPERATURE, 58 + int(index), (index,)),
            Sample(gpus.POWER, 380 + 7 * int(index), (index,)),
            Sample(gpus.POWER_LIMIT, 600, (index,)),
        ]
    return found


def deploy_samples(now: float) -> list[Sample]:
    told = (("deploy", "ok", 9, 7200, 431), ("deploy", "rolled_back", 1, 90000, 812), ("stop", "ok", 2, 400000, 14))
    found = []
    for event, result, count, ago, seconds in told:
        found += [Sample(releases.DEPLOYS, count, (event, result)), Sample(releases.DEPLOY_LAST, now - ago, (event, result))]
        if result == "ok":
            found.append(Sample(releases.DEPLOY_SECONDS, seconds, (event,)))
    return [*found, Sample(releases.SMOKE, 1), Sample(releases.GATE, 1), Sample(releases.GATE_LENGTH, 4.27)]
