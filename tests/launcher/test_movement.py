"""What counts as movement, and what only looks like it."""

from __future__ import annotations

from sglang_ddtree.gpu_memory import parse_used
from sglang_ddtree.loading import LoadWatch
from sglang_ddtree.phases import Phase, PhaseTracker
from sglang_ddtree.processes import ProcessState
from sglang_ddtree.progress import Movement, Sample, WeightMeter
from sglang_ddtree.server_config import ProbeRequest, ServerConfig

MIB = 1024 * 1024


def look(at: float, cpu_s: float = 0.0, read: int = 0, pids: tuple[int, ...] = (10, 11), gpu: int | None = None) -> Sample:
    return Sample(at, {pid: ProcessState(pid, 1, 10, False, cpu_s, read) for pid in pids}, gpu)


def last_after(*samples: Sample, phase: Phase | None = Phase.WEIGHTS) -> float:
    movement = Movement(0.0)
    for sample in samples:
        movement.sample(sample, phase)
    return movement.last


def test_nothing_moved() -> None:
    assert last_after(look(2), look(4), look(6, cpu_s=0.01, read=100)) == 0.0


def test_each_kind_of_evidence() -> None:
    assert last_after(look(2), look(4, cpu_s=1.0)) == 4
    assert last_after(look(2), look(4, read=MIB)) == 4
    assert last_after(look(2), look(4, pids=(10, 11, 12))) == 4
    assert last_after(look(2, gpu=100), look(4, gpu=900)) == 4


def test_waiting_ranks_spin_so_their_cpu_time_proves_nothing() -> None:
    assert last_after(look(2), look(4, cpu_s=2.0), phase=Phase.DISTRIBUTED_INIT) == 0.0
    assert last_after(look(2), look(4, cpu_s=2.0), phase=Phase.WARMUP) == 0.0
    assert last_after(look(2), look(4, cpu_s=2.0), phase=None) == 4


def test_answers_to_our_own_polls_prove_nothing() -> None:
    movement = Movement(0.0)
    movement.log('[2026-11-29 18:26:00] INFO:     127.0.0.1:57770 - "GET /health HTTP/1.1" 503 Service Unavailable', 5.0)
    assert movement.last == 0.0
    movement.log("[2026-11-29 18:26:00] Prefill batch, #new-seq: 1", 6.0)
    assert movement.last == 6.0


def test_weights_by_bytes_read() -> None:
    tracker, meter = PhaseTracker(0.0), WeightMeter(1000)
    assert not meter.update(tracker, 50)
    tracker.feed("[2026-11-29 18:26:13] Load weight begin. avail mem=139.13 GB", 1.0)
    meter.update(tracker, 100)
    assert meter.update(tracker, 350)
    assert tracker.fraction == 0.25
    meter.update(tracker, 99999)
    assert tracker.fraction == 0.99


def config() -> ServerConfig:
    probe = ProbeRequest("x", 1, 1.0)
    return ServerConfig("r", 1, "", (), {}, (), None, probe, stall_after_s=60.0, load_budget_s=100.0, drain_s=1.0)


def test_the_timeout_is_extended_only_while_something_moves() -> None:
    watch = LoadWatch(config(), (), now=0.0)
    assert watch.extension(0.0) == 60.0 + 30.0
    watch.look(look(10))
    assert watch.extension(10.0) is None
    watch.look(look(20, read=MIB))
    assert watch.extension(20.0) == 60.0 + 30.0
    watch.look(look(80, read=2 * MIB))
    assert watch.extension(80.0) == 20.0 + 30.0  # the budget ends at 100
    assert watch.verdict(99.0) is None
    ending = watch.verdict(100.0)
    assert ending is not None
    assert ending.status == "stalled: not ready after 100 s, still in unknown"


def test_used_gpu_memory() -> None:
    assert parse_used("97000\n12\n") == 97012
    assert parse_used("97000\n[N/A]\nUnable to determine the device handle\n") == 97000
    assert parse_used("No devices were found\n") is None


def test_a_frozen_host_is_no_stall() -> None:
    assert last_after(look(2), look(4), look(4000)) == 4000
