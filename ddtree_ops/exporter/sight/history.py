"""The last minutes of what counters tell: tokens a second, and tokens per verify step. Bounded; resets are no negative rates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ddtree_ops.exporter.catalogue import server, speculation, unit
from ddtree_ops.exporter.sight.readings import Readings
from ddtree_ops.exporter.snapshot import Snapshot

POINTS = 60
# Longer than a few periods without a reading is a gap, not a slow rate.
GAP_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Rates:
    """The newest values and the series before them, None where nothing was known; `silent_since` as in Traffic."""

    tokens: float | None = None
    acceptance: float | None = None
    tokens_series: tuple[float | None, ...] = ()
    acceptance_series: tuple[float | None, ...] = ()
    silent_since: float | None = None


@dataclass(frozen=True, slots=True)
class _Counters:
    at: float
    generated: float | None
    committed: float | None
    steps: float | None


@dataclass(slots=True)
class _Track:
    """The series are the very tuples that sights show: nothing is kept twice."""

    before: _Counters | None = None
    tokens: tuple[float | None, ...] = ()
    acceptance: tuple[float | None, ...] = ()
    silent_since: float | None = None

    def is_read(self, at: float) -> bool:
        """The reading of that time was taken in already."""
        return self.before is not None and self.before.at == at

    def wait(self, now: float) -> None:
        """No new reading: after a while the series shows a gap, and whether tokens came in it isn't known."""
        if self.before is not None and now - self.before.at > GAP_SECONDS:
            self.before = self.silent_since = None
            self._put(None, None)

    def take(self, read: _Counters, sick: bool) -> None:
        """`sick`: the unit is active, but its health fails."""
        before, self.before = self.before, read
        moved = before is not None and bool(_grown(before.generated, read.generated))
        self.silent_since = None if moved or not sick else read.at if self.silent_since is None else self.silent_since
        seconds = read.at - before.at if before else 0.0
        if before is None or not 0 < seconds <= GAP_SECONDS:
            self._put(None, None)
            return
        generated = _grown(before.generated, read.generated)
        committed, steps = _grown(before.committed, read.committed), _grown(before.steps, read.steps)
        acceptance = committed / steps if committed is not None and steps else None
        self._put(None if generated is None else generated / seconds, acceptance)

    @property
    def rates(self) -> Rates:
        tokens, acceptance = self.tokens, self.acceptance
        return Rates(
            tokens[-1] if tokens else None, acceptance[-1] if acceptance else None, tokens, acceptance, self.silent_since
        )

    def _put(self, tokens: float | None, acceptance: float | None) -> None:
        self.tokens = (*self.tokens[1 - POINTS :], tokens)
        self.acceptance = (*self.acceptance[1 - POINTS :], acceptance)


class History:
    """Tracks by host and port. Not for several threads at once."""

    def __init__(self) -> None:
        self._hosts: dict[str, dict[str, _Track]] = {}

    def take(self, host: str, snapshot: Snapshot | None, readings: Readings, now: float) -> None:
        """One point for every server of the host if it was read again; `now` is Unix time, as the times of readings are."""
        tracks = self._hosts.setdefault(host, {})
        at = _read_at(snapshot)
        if at is None or any(track.is_read(at) for track in tracks.values()):
            for track in tracks.values():
                track.wait(now)
            return
        for port in readings.ports(server.HTTP_UP, server.GENERATED):
            tracks.setdefault(port, _Track())
        for port, track in tracks.items():
            track.take(_counters(readings, port, at), _sick(readings, port))

    def keep(self, hosts: Collection[str]) -> None:
        """Forget all others."""
        self._hosts = {host: tracks for host, tracks in self._hosts.items() if host in hosts}

    def rates(self, host: str) -> Mapping[str, Rates]:
        """By port."""
        return {port: track.rates for port, track in self._hosts.get(host, {}).items()}


def _read_at(snapshot: Snapshot | None) -> float | None:
    state = snapshot.states.get("server") if snapshot else None
    return state.last_success if state else None


def _counters(readings: Readings, port: str, now: float) -> _Counters:
    """The histogram counts per request and step; its `_sum` over `_count` is the acceptance length."""
    return _Counters(
        now,
        readings.value(server.GENERATED, port),
        readings.value(speculation.LENGTH, port, suffix="_sum"),
        readings.value(speculation.LENGTH, port, suffix="_count"),
    )


def _sick(readings: Readings, port: str) -> bool:
    """A server that loads has no health yet; what isn't known proves nothing, but where nothing answers at all."""
    if readings.chosen(unit.STATE, port) != "active":
        return False
    healthy = readings.flag(server.HEALTH, port)
    return readings.flag(server.HTTP_UP, port) is False if healthy is None else not healthy


def _grown(before: float | None, now: float | None) -> float | None:
    """A counter that fell was reset to nought: what it shows now came since (as Prometheus' rate() counts)."""
    if before is None or now is None:
        return None
    return now - before if now >= before else now
