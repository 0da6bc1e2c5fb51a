"""What happens to two hosts in three hours: a deploy, load, a crash, an idle phase; a failing GPU and a load that stalls.

Only states and rates stand here. `walk` turns them into counters, `exporter` and `server` into expositions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from ddtree_ops.units.phases import Phase

START = 1767258000.0
"""2026-01-01 09:00 UTC."""
STEP = 30.0
MINUTES = 180.0
END = START + MINUTES * 60
PORT = "30000"
LOADING = (Phase.ARGUMENTS, Phase.DISTRIBUTED_INIT, Phase.WEIGHTS, Phase.KV_CACHE, Phase.GRAPH_CAPTURE, Phase.WARMUP)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a host. `kind` is a failure's kind, an Xid or a deploy's event; `result` the deploy's."""

    minute: float
    what: str
    kind: str
    role: str = "root"
    result: str = ""
    seconds: float = 0.0
    gpu: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """A host at one moment. Rates are per second; `load` is 0 to 1 of what it could do; None is a phase's absence."""

    minute: float
    phase: Phase | None
    unit: str = "active"
    release: str = ""
    load: float = 0.0
    acceptance: float = 0.0
    queued: float = 0.0
    fallback_ratio: float = 0.0
    kv_used: float = 0.0
    progress: float | None = None
    eta: float | None = None
    load_started: float | None = None
    last_progress: float | None = None
    gpus_seen: int = 8
    drift: int = 0

    @property
    def serving(self) -> bool:
        """Whether the port answers."""
        return self.phase is Phase.SERVING


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `begin` on, in minutes, until the next one. A load lasts `usual` minutes unless it `stalls` at a ratio."""

    begin: float
    now: Moment
    usual: float = 7.0
    stalls: float = 1.0
    before: float | None = None
    """The load that was before, to slide from; None jumps."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host, its discovered labels, its capacity in tokens/s, and what happens to it."""

    name: str
    hardware: str
    model: str
    gpu_name: str
    gpu_bytes: float
    power_limit: float
    capacity: float
    budget: int
    stretches: tuple[Stretch, ...]
    events: tuple[Event, ...] = field(default=())

    def at(self, minute: float) -> Moment:
        """What the host is like at a minute of the scenario."""
        index = max(i for i, stretch in enumerate(self.stretches) if stretch.begin <= minute)
        stretch = self.stretches[index]
        now = replace(stretch.now, minute=minute)
        if now.unit == "activating" and now.phase is Phase.WEIGHTS:
            return _loading(stretch, now)
        if now.load and stretch.before is not None:
            until = self.stretches[index + 1].begin if index + 1 < len(self.stretches) else MINUTES
            part = (minute - stretch.begin) / (until - stretch.begin)
            now = replace(now, load=stretch.before + (now.load - stretch.before) * part, queued=now.queued * part**2)
        if now.load:
            wave = 1 + 0.05 * math.sin(minute * 1.7 + self.budget) + 0.04 * math.sin(minute * 0.53)
            now = replace(now, load=min(1.0, now.load * wave), acceptance=now.acceptance * (1 + 0.03 * math.sin(minute * 0.9)))
        return replace(now, kv_used=min(0.985, 0.04 + now.load * 0.75 + now.queued * 0.009))


def _loading(stretch: Stretch, now: Moment) -> Moment:
    minutes = now.minute - stretch.begin
    ratio = min(minutes / stretch.usual, stretch.stalls)
    moved = stretch.begin + ratio * stretch.usual if ratio >= stretch.stalls else now.minute
    bounds = (0.03, 0.08, 0.62, 0.68, 0.93, 1.01)
    phase = next(phase for phase, bound in zip(LOADING, bounds, strict=True) if ratio < bound)
    return replace(
        now,
        phase=phase,
        progress=ratio,
        eta=max(0.0, (1 - ratio) * stretch.usual * 60),
        load_started=START + stretch.begin * 60,
        last_progress=START + moved * 60,
    )
