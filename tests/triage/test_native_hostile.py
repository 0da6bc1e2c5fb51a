"""Recognisers of native failures on input that was made to hurt: huge lines, endless blocks, mutated real logs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.triage.blocks.collector import Collector
from ddtree_ops.triage.blocks.device_assert import DeviceAsserts
from ddtree_ops.triage.blocks.terminate import Terminates
from ddtree_ops.triage.blocks.threads import ThreadDumps
from tests.hang import ends
from tests.triage.journals import written
from tests.triage.native import KINDS, of_process, read

NATIVE = Path(__file__).parent.parent / "cases" / "native"
LOGS = sorted(path for path in NATIVE.glob("*/*") if path.suffix in (".txt", ".jsonl"))
LONG = 1 << 20

PIECES = (" ", "a", "'", "(", "::", "[", "frame #1: ", "x.y:", "0x1 ", "] Assertion `", "NCCL WARN ", '"', "\t", "Thread ", "] ")


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_line_of_a_megabyte_comes_to_an_end(kind: type[Collector], piece: str) -> None:
    chosen = {kind.literals[0], kind.literals[PIECES.index(piece) % len(kind.literals)]}
    starts = [f"{literal}{piece * (LONG // len(piece))}" for literal in chosen]
    lines = [(7, line) for start in starts for line in (start, f"{piece * 40}{start}")]
    entries = written(lines)
    with ends():
        read(entries, [kind])


OPENINGS = {
    Terminates: (
        "terminate called after throwing an instance of 'c10::Error'",
        "  what():  x",
        "frame #0: f() + 0x1 (0x1 in /lib/a.so)",
    ),
    ThreadDumps: ("Fatal Python error: Aborted", "Current thread 0x1 (most recent call first):", '  File "a.py", line 1 in f'),
    DeviceAsserts: tuple(f"/a.cu:{line}: f: block: [0,0,0], thread: [0,0,0] Assertion `c` failed." for line in range(3)),
}


@pytest.mark.parametrize("kind", OPENINGS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "filler",
    [
        "frame #{0}: f{0}() + 0x1 (0x1 in /lib/a.so)",
        "word {0}",
        "/a.cu:{0}: f: block: [0,0,0], thread: [0,0,0] Assertion `c` failed.",
        '  File "a.py", line {0} in f{0}',
        "Thread 0x{0} (most recent call first):",
    ],
)
def test_an_endless_block_stays_small(kind: type[Collector], filler: str) -> None:
    lines = [*OPENINGS[kind], *(filler.format(number) for number in range(20_000))]
    blocks = read(written([(7, line) for line in lines], step_us=1), [kind])
    kept = sum(len(line) for block in blocks for line in block.lines)
    kept += sum(len(block.ending.message) + 100 * len(block.ending.frames) for block in blocks)
    kept += sum(100 * len(thread.frames) for block in blocks for thread in block.threads)
    assert kept < 8_000_000


def test_a_thousand_processes_may_stop_in_the_middle() -> None:
    lines = [(pid, "terminate called after throwing an instance of 'A'") for pid in range(10, 2000)]
    assert len(read(written(lines, step_us=1), [Terminates])) <= 1990
    assert of_process([]) == []


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_mutated_logs_never_raise(path: Path) -> None:
    chance = random.Random(path.parent.name)  # noqa: S311 - which lines are damaged, the same in every run
    lines = path.read_bytes().splitlines(keepends=True)
    for _ in range(2):
        damaged = [line for line in lines if chance.random() > 0.1]
        for index in range(len(damaged)):
            roll = chance.random()
            if roll < 0.1:
                damaged[index] = damaged[index][: chance.randrange(len(damaged[index]))] + b"\n"
            elif roll < 0.2:
                damaged[index] = damaged[chance.randrange(len(damaged))]
            elif roll < 0.3:
                damaged[index] = bytes(chance.randrange(256) for _ in range(20)) + damaged[index]
        triage_bytes([b"".join(damaged)]).to_json()
