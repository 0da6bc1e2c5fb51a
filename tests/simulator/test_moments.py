"""The true moments that benchmarks measure from stand beside the log, not in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.simulator.server import draft, running, wait_until

pytestmark = pytest.mark.processes


def moments(path: Path) -> list[tuple[float, str]]:
    return [(float(at), name) for at, name, _ in map(str.split, path.read_text().splitlines())] if path.exists() else []


def test_ready_is_noted_before_it_is_said(models: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    with running(models, SIM_MOMENTS=str(tmp_path / "moments")) as server:
        ((at, name),) = moments(tmp_path / "moments")
        assert began < at < time.monotonic()
        assert name == "ready"
        assert "moments" not in server.text


def test_every_rank_notes_its_crash(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "moments"
    with running(models, "--tp-size", "2", ready=False, SIM_FAULT="crash:weights", SIM_MOMENTS=str(path)) as server:
        server.wait_ended()
    assert {name for _, name in moments(path)} == {"crash"}


def test_a_hang_is_noted_when_it_begins(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "moments"
    with running(models, "--tp-size", "2", ready=False, SIM_FAULT="hang:weights", SIM_MOMENTS=str(path)):
        wait_until(lambda: [name for _, name in moments(path)] == ["hang", "hang"])


def test_a_file_that_cannot_be_written_ends_no_server(models: Path, tmp_path: Path) -> None:
    with running(models, *draft(models), SIM_MOMENTS=str(tmp_path / "missing" / "moments")) as server:
        assert server.generate("The capital of France is")["text"].startswith(" Paris")


def test_a_silent_capture_uses_the_processor(models: Path) -> None:
    """As the compiler does: silence with work is no stall."""
    with running(models, ready=False, SIM_SECONDS_GRAPH_CAPTURE="4") as server:
        server.wait_for("Capturing batches")
        (rank,) = [pid for pid, name in server.children().items() if name == "sglang::scheduler"]
        before = cpu_ticks(rank)
        server.wait_for("tl.where", 10)
        assert cpu_ticks(rank) - before >= 15  # of the 32 that a tenth of 3.2 s are


def cpu_ticks(pid: int) -> int:
    """User and system time in clock ticks, a hundredth of a second each (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
