"""However many hosts there are, and however many of them hang: a few threads, and the others are read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.exporter import log
from ddtree_ops.exporter.catalogue import releases
from ddtree_ops.exporter.collector import Collector
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.observers import CONNECTS_AT_ONCE, READINGS_AT_ONCE, Observers, Opened
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.turns import READINGS_OF_A_HOST
from ddtree_ops.exporter.workers import Workers
from ddtree_ops.fleet.inventory import Host
from tests.exporter.lines import LIST, Line, shell
from tests.exporter.shells import Silent
from tests.exporter.test_probe import host_at
from tests.hang import until

NAMES = ("unit", "boots", "server", "health", "releases", "drift", "deploys", "gpus")


def test_what_is_due_is_done_in_its_order() -> None:
    alone, done = Workers(1, "test"), list[int]()
    for number in (3, 2, 1):
        alone.after(number / 50, partial(done.append, number))
    until(lambda: len(done) == 3)
    alone.close(60)
    assert done == [1, 2, 3]


def test_so_many_threads_and_no_more() -> None:
    workers, done, gate = Workers(2, "test"), list[int](), threading.Event()
    before = threading.active_count()

    def wait() -> None:
        gate.wait(60)
        done.append(0)

    for _ in range(100):
        workers.after(0.0, wait)
    assert threading.active_count() <= before + 2
    gate.set()
    until(lambda: len(done) == 100)
    workers.close(60)
    assert threading.active_count() <= before


def test_it_is_alive_also_while_a_thread_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, gate, seen = Workers(2, "test"), threading.Event(), list[bool]()
    start = threading.Thread.start

    def wait() -> None:
        gate.wait(60)

    workers.after(0.0, wait)

    def slow(thread: threading.Thread) -> None:
        seen.append(workers.alive)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", slow)
    workers.after(0.0, gate.set)
    assert gate.wait(60)
    workers.close(60)
    assert seen == [True]


def test_one_that_raises_ends_no_thread(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    workers, done = Workers(1, "test"), threading.Event()
    workers.after(0.0, fail)
    workers.after(0.0, done.set)
    assert done.wait(60)
    assert workers.alive
    workers.close()
    assert "ZeroDivisionError" in capsys.readouterr().err


class Reading:
    """A collector of a host; one that hangs does so until it is let go."""

    def __init__(self, target: Target, name: str, gate: threading.Event | None) -> None:
        self._target, self._gate = target, gate
        self.name, self.period = name, 0.05

    def read(self) -> Sequence[Sample]:
        self._target.shell.run(LIST)
        if self._gate is not None:
            self._gate.wait(60)
        return (Sample(releases.COUNT, 3),)


def fleet(names: Sequence[str], reachable: Callable[[str], bool], gate: threading.Event) -> Observers:
    """Hosts whose name begins with `h` hang in each reading."""

    def opened(host: Host, _connects: threading.Semaphore) -> Opened:
        line = Line(reachable=reachable(host.name))
        line.host = host.name
        remote = shell(line)
        return Opened(Target(remote, Silent()), remote.close)

    def collect(target: Target) -> Sequence[Collector]:
        return [Reading(target, name, gate if target.host.startswith("h") else None) for name in NAMES]

    hosts = [host_at(name) for name in names]
    return Observers(lambda: hosts, opened, collect, SystemClock())


def is_read(observers: Observers, host: str) -> bool:
    observer = observers.of(host)
    return observer is not None and all(state.success for state in observer.settled().states.values())


def test_threads_do_not_grow_with_hosts_that_are_lost() -> None:
    before, gate = threading.active_count(), threading.Event()
    names = [f"lost{number}" for number in range(300)]
    observers = fleet([*names, "well"], lambda host: host == "well", gate)
    observers.start()
    try:
        until(lambda: is_read(observers, "well"))
        until(lambda: all(state.error for one in names[:40] for state in observers.snapshots()[one].states.values()))
        assert threading.active_count() <= before + READINGS_AT_ONCE + CONNECTS_AT_ONCE + 1
    finally:
        observers.close()


def test_hosts_that_hang_leave_threads_to_the_others() -> None:
    gate = threading.Event()
    hanging = [f"h{number}" for number in range(READINGS_AT_ONCE // READINGS_OF_A_HOST - 1)]
    observers = fleet([*hanging, "well"], lambda _: True, gate)
    observers.start()
    try:
        until(lambda: is_read(observers, "well"))
        first = observers.of(hanging[0])
        assert first is not None
        until(lambda: not any(state.success for state in first.settled().states.values()))
    finally:
        gate.set()
        observers.close()


def test_a_line_is_written_at_once_with_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    class Stream:
        def write(self, text: str) -> None:
            written.append(text)

        def flush(self) -> None:
            pass

    monkeypatch.setattr("sys.stderr", Stream())
    log.line("collector a: one\ntwo\x1b[31m")
    assert written == ["collector a: one two [31m\n"]
