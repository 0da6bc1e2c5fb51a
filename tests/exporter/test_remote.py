"""Collectors that share one connection: kept, renewed, bounded, and one failure for all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from ddtree_ops.errors import Unreachable
from ddtree_ops.exporter.journal.follow import UNIT_SIGNS
from ddtree_ops.exporter.journal.watch import Watch
from ddtree_ops.exporter.remote import RemoteShell
from tests.exporter.lines import LIST, Line, shell


def together(number: int, work: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, daemon=True) for _ in range(number)]
    for thread in threads:
        thread.start()
    return threads


def test_a_connection_is_kept_and_renewed_when_it_is_lost() -> None:
    line = Line()
    remote = shell(line)
    for _ in range(3):
        remote.run(LIST)
    assert line.connects == 1
    line.cut()
    remote.run(LIST)
    assert line.connects == 2


def test_a_connection_that_only_looks_alive_is_given_up() -> None:
    line = Line()
    remote = shell(line)
    remote.run(LIST)
    line.mute = True
    for _ in range(3):
        with pytest.raises(Unreachable):
            remote.run(LIST)
    line.mute = False
    remote.run(LIST)
    assert line.connects == 2


def test_ten_collectors_wait_for_one_connect() -> None:
    line = Line(reachable=False, slow=0.1)
    now = [0.0]
    remote = shell(line, lambda: now[0])
    failed: list[BaseException] = []

    def work() -> None:
        with pytest.raises(Unreachable) as caught:
            remote.run(LIST)
        failed.append(caught.value)

    for thread in together(10, work):
        thread.join(5)
    assert (len(failed), line.connects) == (10, 1)
    now[0] += 6
    line.reachable = True
    remote.run(LIST)
    assert line.connects == 2


def test_hosts_that_are_connected_do_not_wait_for_those_that_connect() -> None:
    connects = threading.BoundedSemaphore(1)
    good, bad = Line(), Line(reachable=False, slow=1.0)
    near = RemoteShell(good, connects)
    near.run(LIST)

    def fail() -> None:
        with pytest.raises(Unreachable):
            RemoteShell(bad, connects).run(LIST)

    (thread,) = together(1, fail)
    while not bad.connects:
        time.sleep(0.005)
    near.run(LIST)
    assert thread.is_alive()  # still connecting
    thread.join(60)


def test_a_host_that_answers_nothing_for_long_is_lost_also_to_whoever_only_listens() -> None:
    now = [0.0]
    line = Line()
    remote = shell(line, lambda: now[0])
    watch = Watch(remote, ("journalctl",), UNIT_SIGNS, lambda: None, "journal of a unit")
    for _ in range(10):
        now[0] += 10
        remote.run(LIST)
        watch.check()
    line.mute = True
    while now[0] < 130:
        now[0] += 5
        with pytest.raises(Unreachable):
            remote.run(LIST)
        if now[0] <= 125:
            watch.check()
    with pytest.raises(Unreachable, match="ct200: no answer for 30 s"):
        watch.check()
    line.mute = False
    remote.run(LIST)
    watch.check()
