"""Reads every collector on its own period, in threads of Workers, and keeps what they said last.

A collector that raises or hangs costs only itself: its success is 0, and its samples are dropped after three periods, not before
ten seconds are over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ddtree_ops.exporter import log
from ddtree_ops.exporter.agreement import Runs, agreed
from ddtree_ops.exporter.bounds import bounded
from ddtree_ops.exporter.collector import Closable, Collector, Doubtful, Dropping
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.snapshot import CollectorState, Snapshot
from ddtree_ops.exporter.turns import Turns
from ddtree_ops.exporter.workers import Workers
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
    due: float = 0.0


class Sampler:
    """start() begins to read; snapshot() never waits for a collector.

    `workers` are shared with other hosts, and `turns` keep this one from taking them all; None: a thread for each collector.
    """

    def __init__(
        self,
        collectors: Sequence[Collector],
        clock: Clock,
        wall: Callable[[], float] = time.time,
        *,
        workers: Workers | None = None,
        turns: Turns | None = None,
    ) -> None:
        self._slots = {collector.name: _Slot(collector) for collector in collectors}
        self._clock = clock
        self._wall = wall
        self._workers = workers or Workers(max(1, len(self._slots)), "collector")
        self._owns_workers = workers is None
        self._turns = turns
        self._news = threading.Condition()
        self._closing = threading.Event()
        self._under_way = 0
        self._runs = Runs()

    def start(self) -> None:
        """Begin to read, all collectors at once."""
        for slot in self._slots.values():
            slot.due = self._clock.monotonic()
            self._workers.after(0.0, partial(self._step, slot))

    def stop(self) -> None:
        """Begin no more readings; close() has to follow."""
        self._closing.set()
        with self._news:
            self._news.notify_all()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Read no more, and end what collectors keep running. One that hangs isn't waited for beyond `seconds`."""
        self.stop()
        with self._news:
            self._news.wait_for(lambda: not self._under_way, seconds)
        for slot in self._slots.values():
            if isinstance(slot.collector, Closable):
                slot.collector.close()
        if self._owns_workers:
            self._workers.close()

    @property
    def alive(self) -> bool:
        """It reads, and hasn't been closed."""
        return self._workers.alive and not self._closing.is_set()

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
            read_at = {name: slot.fresh_at for name, slot in self._slots.items() if slot.fresh_at is not None}
            told = agreed(samples, self._runs, read_at)
        return Snapshot(told, states, self._wall())

    def _step(self, slot: _Slot) -> None:
        """One reading, when it is this host's turn, and then the next one; one that waits for its turn takes longer."""
        if self._closing.is_set():
            return
        if slot.began is None:
            slot.began = self._clock.monotonic()
        if self._turns is not None and not self._turns.begin(partial(self._step, slot)):
            return
        try:
            self._read(slot)
        finally:
            if self._turns is not None:
                self._turns.end()
        now, period = self._clock.monotonic(), slot.collector.period
        slot.due = max(slot.due + period, now) if now - slot.due < 2 * period else now
        self._workers.after(slot.due - now, partial(self._step, slot))

    def _read(self, slot: _Slot) -> None:
        with self._news:
            self._under_way += 1
            begin = self._clock.monotonic()
            slot.began = begin if slot.began is None else slot.began
        samples, dropped, error, doubt = _reading(slot.collector)
        end = self._clock.monotonic()
        before = slot.state
        self._log(slot, error or doubt)
        with self._news:
            success = error is None and doubt is None
            last = self._wall() if success else before.last_success if before else None
            slot.state = CollectorState(success, end - begin, last, error or doubt, dropped)
            if error is None:
                slot.samples, slot.fresh_at = samples, end
                self._runs.saw(samples, end)
            slot.began = None
            self._under_way -= 1
            self._news.notify_all()

    def _log(self, slot: _Slot, error: str | None) -> None:
        """A line when a collector begins to fail, fails otherwise, or is well again: not one for every reading."""
        before = slot.state.error if slot.state else None
        if error != before:
            log.line(f"collector {slot.collector.name}: {error or 'well again'}")


def _reading(collector: Collector) -> tuple[tuple[Sample, ...], int, str | None, str | None]:
    """Samples, how many were dropped; what the reading raised, or else what was wrong with it."""
    try:
        samples, dropped = bounded(collector.name, collector.read())
        dropped += collector.dropped if isinstance(collector, Dropping) else 0
        doubt = collector.problem if isinstance(collector, Doubtful) else None
    except Exception as raised:  # noqa: BLE001 - whatever a collector raises costs only itself
        return (), 0, _told(type(raised).__name__, str(raised)), None
    return samples, dropped, None, doubt and _told("", doubt)


def _state(slot: _Slot, now: float) -> CollectorState | None:
    if slot.began is not None and now - slot.began > slot.collector.period:
        last = slot.state.last_success if slot.state else None
        return CollectorState(False, now - slot.began, last, UNENDED)
    return slot.state


def _told(kind: str, text: str) -> str:
    """One line of ours: type and message, without control characters."""
    if len(text) > _LONGEST_ERROR:
        text = f"{text[: _LONGEST_ERROR // 2]} ... {text[-_LONGEST_ERROR // 2 :]}"
    printable = "".join(char if char.isprintable() else " " for char in text)
    return f"{kind}: {' '.join(printable.split())}".removeprefix(": ")
