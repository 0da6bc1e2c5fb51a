"""Reads every collector on its own period, each in a thread of its own, and keeps what they said last.

A collector that raises or hangs costs only itself: its success is 0, and its samples are dropped after three periods, not before
ten seconds are over.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ddtree_ops.exporter.agreement import agreed
from ddtree_ops.exporter.bounds import bounded
from ddtree_ops.exporter.collector import Closable, Collector, Dropping
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.snapshot import CollectorState, Snapshot
from ddtree_ops.ports import Clock

PERIODS_KEPT = 3
SECONDS_KEPT = 10.0  # of those that are read often: a busy host answers late
CLOSE_SECONDS = 1.0
UNENDED, UNREAD = "no end of this reading yet", "no reading has ended yet"
_LONGEST_ERROR = 240


@dataclass(slots=True)
class _Slot:
    """One collector and its last reading; times are monotonic but for `succeeded`, which is Unix time."""

    collector: Collector
    samples: tuple[Sample, ...] = ()
    state: CollectorState | None = None
    fresh_at: float | None = None
    began: float | None = None


class Sampler:
    """start() begins to read; snapshot() never waits for a collector. Every reading raises `version`."""

    def __init__(self, collectors: Sequence[Collector], clock: Clock, wall: Callable[[], float] = time.time) -> None:
        self._slots = {collector.name: _Slot(collector) for collector in collectors}
        self._clock = clock
        self._wall = wall
        self._news = threading.Condition()
        self._version = 0
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to read, all collectors at once."""
        for name, slot in self._slots.items():
            thread = threading.Thread(target=self._follow, args=(slot,), name=f"collector-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Begin no more readings; close() has to follow."""
        self._closing.set()
        with self._news:
            self._news.notify_all()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Read no more, and end what collectors keep running. One that hangs isn't waited for beyond `seconds`."""
        self.stop()
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for slot in self._slots.values():
            if isinstance(slot.collector, Closable):
                slot.collector.close()

    @property
    def alive(self) -> bool:
        """All threads still run: they never end by themselves."""
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    @property
    def version(self) -> int:
        """How many readings there were."""
        return self._version

    def wait(self, version: int, timeout: float) -> int:
        """The version once it differs from `version`; the same one after `timeout` seconds, or at the end."""
        with self._news:
            self._news.wait_for(lambda: self._version != version or self._closing.is_set(), timeout)
            return self._version

    def read_once(self) -> Snapshot:
        """Read each collector once, here and now, one after the other."""
        for slot in self._slots.values():
            self._read(slot)
        return self.snapshot()

    def settled(self, seconds: float) -> Snapshot:
        """What is known once every collector has read once, or after `seconds`. One that hasn't, has failed so far."""
        with self._news:
            self._news.wait_for(lambda: self._closing.is_set() or all(slot.state for slot in self._slots.values()), seconds)
        known, now = self.snapshot(), self._clock.monotonic()
        unread = {name: CollectorState(False, now - (slot.began or now), None, UNREAD) for name, slot in self._slots.items()}
        return replace(known, states={**unread, **known.states})

    def snapshot(self) -> Snapshot:
        """What is known now. A reading that takes longer than its period counts as failed already."""
        now = self._clock.monotonic()
        samples: dict[str, tuple[Sample, ...]] = {}
        states: dict[str, CollectorState] = {}
        with self._news:
            for name, slot in self._slots.items():
                kept = slot.fresh_at is not None and now - slot.fresh_at <= max(
                    PERIODS_KEPT * slot.collector.period, SECONDS_KEPT
                )
                samples[name] = slot.samples if kept else ()
                state = _state(slot, now)
                if state is not None:
                    states[name] = state
        return Snapshot(agreed(samples), states, self._wall())

    def _follow(self, slot: _Slot) -> None:
        due = self._clock.monotonic()
        while not self._closing.is_set():
            self._read(slot)
            now = self._clock.monotonic()
            due = max(due + slot.collector.period, now) if now - due < 2 * slot.collector.period else now
            self._closing.wait(due - now)

    def _read(self, slot: _Slot) -> None:
        slot.began = begin = self._clock.monotonic()
        try:
            samples, dropped = bounded(slot.collector.name, slot.collector.read())
            dropped += slot.collector.dropped if isinstance(slot.collector, Dropping) else 0
            error = None
        except Exception as raised:  # noqa: BLE001 - whatever a collector raises costs only itself
            samples, dropped, error = (), 0, _told(raised)
        end = self._clock.monotonic()
        before = slot.state
        self._log(slot, error)
        with self._news:
            last = self._wall() if error is None else before.last_success if before else None
            slot.state = CollectorState(error is None, end - begin, last, error, dropped)
            if error is None:
                slot.samples, slot.fresh_at = samples, end
            slot.began = None
            self._version += 1
            self._news.notify_all()

    def _log(self, slot: _Slot, error: str | None) -> None:
        """A line when a collector begins to fail, fails otherwise, or is well again: not one for every reading."""
        before = slot.state.error if slot.state else None
        if error != before:
            print(f"collector {slot.collector.name}: {error or 'well again'}", file=sys.stderr, flush=True)  # noqa: T201


def _state(slot: _Slot, now: float) -> CollectorState | None:
    if slot.began is not None and now - slot.began > slot.collector.period:
        last = slot.state.last_success if slot.state else None
        return CollectorState(False, now - slot.began, last, UNENDED)
    return slot.state


def _told(error: Exception) -> str:
    """One line of ours: type and message, without control characters."""
    text = str(error)
    if len(text) > _LONGEST_ERROR:
        text = f"{text[: _LONGEST_ERROR // 2]} ... {text[-_LONGEST_ERROR // 2 :]}"
    printable = "".join(char if char.isprintable() else " " for char in text)
    return f"{type(error).__name__}: {' '.join(printable.split())}"
