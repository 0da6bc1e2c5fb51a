"""The sights of a fleet, kept up to date: what didn't change isn't read again, and who can't be reached is shown as last seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ddtree_ops.exporter.sight.build import STALE_SECONDS, is_stale, sight, units_read
from ddtree_ops.exporter.sight.history import History
from ddtree_ops.exporter.sight.model import HostSight, State
from ddtree_ops.exporter.sight.readings import Made, Observed, Readings
from ddtree_ops.exporter.sight.state import UNANSWERED
from ddtree_ops.exporter.snapshot import Snapshot

# A load that stands still becomes a stalled one without any new sample.
_JUDGED_AGAIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Kept:
    observed: Observed
    sight: HostSight
    at: float
    made: Made


class Sights:
    """Not for several threads at once."""

    def __init__(self) -> None:
        self._history = History()
        self._kept: dict[str, _Kept] = {}

    def update(self, fleet: Iterable[Observed], now: float) -> tuple[HostSight, ...]:
        """The fleet in its own order at `now`, Unix seconds."""
        former, self._kept = self._kept, {}
        for observed in fleet:
            self._kept[observed.host] = self._kept_now(observed, former.get(observed.host), now)
        self._history.keep(self._kept.keys())
        return tuple(kept.sight for kept in self._kept.values())

    def _kept_now(self, observed: Observed, kept: _Kept | None, now: float) -> _Kept:
        observed = _still_lost(observed, kept)
        readings = Readings(observed.snapshot, kept.made if kept else None)
        self._history.take(observed.host, observed.snapshot, readings, now)
        if kept is not None and _same(kept, observed, now):
            return kept
        fresh = sight(observed, now, self._history.rates(observed.host), readings)
        return _Kept(observed, _last_known(fresh, kept.sight if kept else None, now), now, readings.made)


def _same(kept: _Kept, observed: Observed, now: float) -> bool:
    """A collector's samples are one tuple until its next reading. Nothing may get stale or stall unseen."""
    before, after = kept.observed, observed
    if (before.problem, before.hardware, before.model) != (after.problem, after.hardware, after.model):
        return False
    may_change = kept.sight.state is State.LOADING or units_read(observed)[0]
    if may_change and not 0 <= now - kept.at < _JUDGED_AGAIN_SECONDS:
        return False
    if kept.sight.read is not None and kept.sight.stale != is_stale(observed, now):
        return False
    return _same_samples(before.snapshot, after.snapshot)


def _same_samples(before: Snapshot | None, after: Snapshot | None) -> bool:
    if before is None or after is None:
        return before is after
    if before is after:
        return True
    if before.samples.keys() != after.samples.keys() or before.states.keys() != after.states.keys():
        return False
    if any(before.samples[name] is not samples for name, samples in after.samples.items()):
        return False
    return all(before.states[name].success == state.success for name, state in after.states.items())


def _still_lost(observed: Observed, kept: _Kept | None) -> Observed:
    """A reading that hasn't ended doesn't say that the way to the host is there again."""
    if observed.problem in (None, UNANSWERED) and kept and kept.observed.problem and units_read(observed)[0]:
        return replace(observed, problem=kept.observed.problem)
    return observed


def _last_known(fresh: HostSight, former: HostSight | None, now: float) -> HostSight:
    """Old samples are dropped by and by; the page goes on showing what a lost host last was, marked as old."""
    if former is None or fresh.servers[0].state not in (State.UNREACHABLE, State.UNKNOWN) or fresh.servers[0].port is not None:
        return fresh
    if former.servers[0].port is None:
        return replace(fresh, read=fresh.read if fresh.read is not None else former.read)
    if fresh.state is State.UNKNOWN and former.read is not None and now - former.read <= STALE_SECONDS:
        return replace(former, blind=fresh.blind, stale=True)  # a busy host answers late
    servers = tuple(replace(one, state=fresh.servers[0].state, reason="") for one in former.servers)
    return replace(former, servers=servers, problem=fresh.problem, blind=fresh.blind, stale=True)
