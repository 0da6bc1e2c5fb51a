"""Going through a host's three hours step by step, adding up what its counters would be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.monitoring.data.scenario import MINUTES, START, STEP, Event, Host, Moment

LENGTHS = tuple(range(1, 17))
WAITS = ("hardly", "little", "long")


@dataclass(slots=True)
class Totals:
    """Sums so far. Those of the server go back to 0 when it starts again; those of the exporter last."""

    generated: float = 0.0
    steps: float = 0.0
    request_steps: float = 0.0
    requests: float = 0.0
    prompt: float = 0.0
    fallbacks: float = 0.0
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("draft", "build", "verify", "commit"), 0.0))
    lengths: Counter[int] = field(default_factory=Counter)
    waits: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WAITS, 0.0))

    def add(self, host: Host, now: Moment, seconds: float) -> None:
        """One step of serving: `seconds` at the moment's rates."""
        if not now.serving or not now.load:
            return
        tokens = now.load * host.capacity * seconds
        request_steps = tokens / now.acceptance
        steps = request_steps / max(1.0, running(now))
        self.generated += tokens
        self.request_steps += request_steps
        self.steps += steps
        self.requests += tokens / 420
        self.waits[WAITS[2] if now.queued > 12 else WAITS[1] if now.load > 0.75 else WAITS[0]] += tokens / 420
        self.prompt += tokens * 3.1
        self.fallbacks += steps * now.fallback_ratio
        slow = 1 + 0.8 * now.fallback_ratio
        for part, share in (("draft", 0.18), ("build", 0.05), ("verify", 0.62 * slow), ("commit", 0.06)):
            self.seconds[part] += share * seconds
        for length, chance in _shares_of(round(now.acceptance * 10)):
            self.lengths[length] += round(request_steps * chance)


@dataclass(frozen=True, slots=True)
class Tick:
    """A host at one scrape: its moment, the server's totals since it started, and every event until now."""

    host: Host
    time: float
    now: Moment
    totals: Totals
    started: float | None
    restarts: int
    events: tuple[Event, ...]


def running(now: Moment) -> float:
    """Requests that are being decoded."""
    return round(now.load * 48) if now.serving else 0.0


def walk(host: Host) -> Iterator[Tick]:
    """Each scrape of a host, in order. The totals are the walk's own: read them before the next tick."""
    totals, started, restarts, was_up = Totals(), START - 86400.0, 0, True
    for index in range(int(MINUTES * 60 / STEP) + 1):
        minute = index * STEP / 60
        now = host.at(minute)
        up = now.phase is not None
        if up and not was_up:
            totals, started = Totals(), START + minute * 60
        if was_up and not up and now.unit == "activating":
            restarts += 1
        was_up = up
        totals.add(host, now, STEP)
        past = tuple(event for event in host.events if event.minute <= minute)
        yield Tick(host, START + minute * 60, now, totals, started if up else None, restarts, past)


@cache
def _shares_of(tenths: int) -> tuple[tuple[int, float], ...]:
    """Parts of each length in a cut-off geometric distribution whose mean is so many tenths."""
    low, high = 0.01, 3.0
    for _ in range(40):
        keep = (low + high) / 2
        weights = [keep**length for length in LENGTHS]
        mean = sum(length * weight for length, weight in zip(LENGTHS, weights, strict=True)) / sum(weights)
        low, high = (keep, high) if mean < tenths / 10 else (low, keep)
    return tuple((length, weight / sum(weights)) for length, weight in zip(LENGTHS, weights, strict=True))
