"""Signs in a journal's bytes, when a pass is due for them, and what the collector tells of the state."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.catalogue import failures
from ddtree_ops.exporter.collectors.journal import samples
from ddtree_ops.exporter.collectors.kernel import KernelCollector
from ddtree_ops.exporter.journal.follow import KERNEL_SIGNS, UNIT_SIGNS, Scanner, Sign
from ddtree_ops.exporter.journal.leftovers import forget
from ddtree_ops.exporter.journal.one_pass import Pass
from ddtree_ops.exporter.journal.schedule import REGULAR_SECONDS, SOON_SECONDS, Schedule
from ddtree_ops.exporter.journal.watch import Watch
from ddtree_ops.exporter.kernel.state import KernelState, Seen
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.sight.readings import Readings
from ddtree_ops.exporter.target import Target
from ddtree_ops.triage.kinds import Kind
from tests.exporter.journal_story import UNIT, StoryShell, long_story
from tests.exporter.shells import Silent
from tests.triage.journals import recorded


def text_of(name: str) -> bytes:
    return b"".join(entry.message.encode() + b"\n" for entry in recorded(name))


def test_crashes_are_seen_and_a_healthy_server_is_not() -> None:
    assert Scanner(UNIT_SIGNS).take(text_of("tp2_ddtree_shape")) is Sign.NOW
    assert Scanner(UNIT_SIGNS).take(text_of("tp2_rank1_raise")) is Sign.NOW
    healthy = text_of("dflash_ok").partition(b"SIGTERM")[0]
    assert Scanner(UNIT_SIGNS).take(healthy) is Sign.NONE
    assert Scanner(KERNEL_SIGNS).take(b"NVRM: Xid (PCI:0000:41:00): 79\n") is Sign.NOW
    assert Scanner(UNIT_SIGNS).take(b"Starting ddtree-server@30000.service\n") is Sign.SOON


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_sign_is_seen_once_however_the_bytes_are_cut(size: int) -> None:
    line = b"[2026-11-29 18:37:34 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    data = b"x" * 500 + line + b"y" * 2000
    scanner = Scanner(UNIT_SIGNS)
    seen = [scanner.take(data[start : start + size]) for start in range(0, len(data), size)]
    assert seen.count(Sign.NOW) == 1


def test_a_pass_is_due_when_signs_fell_silent_and_rarely_in_a_storm() -> None:
    schedule = Schedule(due=0.0)
    schedule.begin(0.0)
    assert schedule.due == REGULAR_SECONDS
    schedule.sign(Sign.SOON, 1.0)
    assert schedule.due == 1.0 + SOON_SECONDS
    for tenth in range(50, 53):
        schedule.sign(Sign.NOW, tenth / 10)
    assert 5.2 < schedule.due < 5.6
    passes = 0
    now = 100.0
    while now < 400.0:
        schedule.sign(Sign.NOW, now)
        now += 0.1
        if now >= schedule.due:
            schedule.begin(now)
            passes += 1
    assert 10 < passes < 30


def test_a_watch_runs_at_the_start_and_after_a_sign() -> None:
    ran, entries = threading.Semaphore(0), long_story().entries[:1]
    shell = StoryShell(entries)
    watch = Watch(shell, ("journalctl",), UNIT_SIGNS, ran.release, "test")
    watch.start()
    try:
        assert ran.acquire(timeout=60)
        watch._on_sign(Sign.NOW)
        assert ran.acquire(timeout=60)
    finally:
        watch.close()


def test_a_pass_that_failed_shows_at_the_next_reading_and_so_does_a_good_one(tmp_path: Path) -> None:
    outcomes = [HostCommandFailed("No journal files were opened"), None, RecursionError("unforeseen")]
    passes, told = iter(outcomes), threading.Semaphore(0)

    def run(_: str | None) -> None:
        told.release()
        if raised := next(passes, None):
            raise raised

    shell, state = StoryShell(long_story().entries[:1]), KernelState(xids={("0", "79"): Seen(1, 5)})
    state_file.write(tmp_path / state_file.KERNEL, state.to_data())
    collector = KernelCollector(Target(shell, Silent()), tmp_path, run)
    sampler = Sampler([collector], SystemClock())
    try:
        assert sampler.read_once().states["kernel"]  # begins to watch
        for number, outcome in enumerate(outcomes):
            if number:
                collector._watch._on_sign(Sign.NOW)
            assert told.acquire(timeout=60)
            deadline = time.monotonic() + 60
            while collector._watch._running and time.monotonic() < deadline:
                time.sleep(0.01)
            found = sampler.read_once()
            assert found.states["kernel"].success is (outcome is None)
            assert str(outcome or "") in (found.states["kernel"].error or "")
            assert Readings(found).value(failures.XID, "0", "79") == 1  # what was counted stays
    finally:
        sampler.close()


def test_a_journal_that_can_not_be_followed_for_want_of_places_is_read_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddtree_ops.exporter.journal.follow._PLACES", threading.BoundedSemaphore(1))
    ran, shell = threading.Semaphore(0), StoryShell(long_story().entries[:1])
    first, second = (Watch(shell, ("journalctl",), UNIT_SIGNS, ran.release, "test") for _ in range(2))
    for watch in (first, second):
        watch.start()
        assert ran.acquire(timeout=60)
    deadline = time.monotonic() + 60
    while (first._running or second._running) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert second._schedule.due < first._schedule.due
    first.close()
    assert second._follower.start()
    second.close()


def test_samples_begin_at_zero_and_say_nothing_of_an_unread_past(tmp_path: Path) -> None:
    shell = StoryShell(long_story().entries)
    Pass(shell, UNIT, tmp_path, sleep=shell.sleep).run()
    data = json.loads((tmp_path / "journal-30000.json").read_text())
    assert list(samples({"30000": {**data, "complete": False}, "30001": {}})) == []
    found = {(one.metric.name, one.labels): one.value for one in samples({"30000": data, "30001": data})}
    total = "ddtree_ops_failures_total"
    assert found[(total, ("30000", "graph_token_count_mismatch", "root"))] == 2
    assert {("30001", kind.value, "root") for kind in Kind} <= {labels for name, labels in found if name == total}
    info = [labels for name, labels in found if name == "ddtree_ops_failure_info" and labels[0] == "30000"]
    assert {labels[2] for labels in info} == {"graph_token_count_mismatch", "unknown"}
    assert all(len(label) <= 200 for labels in info for label in labels)


def test_counters_of_servers_that_are_gone_are_kept_for_a_month(tmp_path: Path) -> None:
    now, day = 2e9, 86400.0
    for port, age in ((30000, 99), (30001, 31), (30002, 29)):
        (tmp_path / "reports" / str(port)).mkdir(parents=True)
        for ending in ("json", "lock", "json.aside"):
            path = tmp_path / f"journal-{port}.{ending}"
            path.touch()
            older = 0 if ending == "json" else 100
            os.utime(path, (now - (age + older) * day,) * 2)
    (tmp_path / "kernel.json").touch()
    os.utime(tmp_path / "kernel.json", (0, 0))
    forget(tmp_path, (30000,), now)
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} == {"journal-30000", "journal-30002", "kernel", "reports"}
    assert {path.name for path in (tmp_path / "reports").iterdir()} == {"30000", "30002"}
