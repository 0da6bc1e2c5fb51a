"""Worker processes: the same facts as without them, and none of them outlives the command, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddtree_ops.runtime.source import extraction
from ddtree_ops.runtime.source.extraction import Content, extract_all

SOME = [Content(f"some{number}.py", b"def f(a):\n    b = a\n    return b\n\n\n" * 20) for number in range(6)]
SLOW = """
import sys
from ddtree_ops.runtime.source import extraction
from ddtree_ops.runtime.source.extraction import Content, extract_all

extraction._ALONE, extraction._BATCH = 0, 1

def tell(done, total):
    print(done, flush=True)

if __name__ == "__main__":
    batch = [Content(f"f{number}.py", b"def f(a):\\n    b = a\\n    return b\\n" * 1_500) for number in range(100)]
    list(extract_all(batch, 2, tell))
"""


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers pay from the first byte on, and have one file at a time."""
    monkeypatch.setattr(extraction, "_ALONE", 0)
    monkeypatch.setattr(extraction, "_BATCH", 1)


def descendants(pid: int) -> set[int]:
    found = {int(text) for path in Path(f"/proc/{pid}/task").glob("*/children") for text in path.read_text().split()}
    return found | {below for child in found for below in descendants(child)}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], set[int]]]:
    """A command with workers in the middle of their work."""
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        assert process.stdout.readline() != ""
        yield process, descendants(process.pid)
        process.kill()


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_gone(pids: set[int], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while any(map(lives, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(lives, pids))


@pytest.mark.processes
def test_interrupted_like_by_a_person_leaves_nobody(running: tuple[subprocess.Popen[str], set[int]]) -> None:
    process, below = running
    assert len(below) >= 2
    os.killpg(process.pid, signal.SIGINT)  # a terminal's Ctrl-C goes to all of them
    _, said = process.communicate(timeout=60)
    assert all_gone(below)
    assert said.count("Traceback") == 1, "the workers said something, too"
    assert "KeyboardInterrupt" in said


@pytest.mark.processes
def test_killed_leaves_nobody(running: tuple[subprocess.Popen[str], set[int]]) -> None:
    process, below = running
    process.kill()
    assert all_gone(below)


@pytest.mark.usefixtures("small_batches")
def test_workers_find_what_one_process_finds() -> None:
    told: list[tuple[int, int]] = []
    alone = {one.name: set(one.names) for one in extract_all(SOME, 1)}
    together = {one.name: set(one.names) for one in extract_all(SOME, 2, lambda done, total: told.append((done, total)))}
    assert alone == together
    assert set(alone) == {one.name for one in SOME}
    assert told[0] == (0, 6)
    assert told[-1] == (6, 6)


@pytest.mark.usefixtures("small_batches")
def test_where_workers_die_the_rest_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "_end_with_parent", os.abort)
    assert {one.name for one in extract_all(SOME, 2)} == {one.name for one in SOME}
