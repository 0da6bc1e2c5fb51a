"""What CPython's traceback module prints is read back equal, whatever stands around it; what is damaged never raises."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ddtree_ops.triage.blocks.tracebacks import Tracebacks
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.lines import LineAssembler, read_prefix
from tests.hang import ends
from tests.triage.journals import plain, written
from tests.triage.printed import NODES, Node, read_of, text_of, wanted
from tests.triage.reading import read

ROOT = Path(__file__).parent.parent / "cases"
SLOW = settings(max_examples=40, database=None, deadline=None, suppress_health_check=list(HealthCheck))

PREFIXES = (
    "",
    "[rank3]: ",
    "rank0: ",
    "[1,3]<stderr>: ",
    "[default0]: ",
    "(EngineCore_DP0 pid=2000) ERROR 04-02 03:04:05 [core.py:1101] ",
    "ERROR 04-02 03:04:05 engine.py:101] ",
    "(RayWorkerWrapper pid=123, ip=10.0.0.1) ",
    "2026-04-02 03:04:05 | ERROR | stderr | ",
    "[04/02/2026-03:04:05] [TRT-LLM] [E] ",
    "2026-04-02 03:04:05,123 - worker - ERROR - ",
    "[2026-04-02 03:04:05 TP3] ",
    "srv17/serve[4711]: ",
    "[1,3]<stderr>:[rank3]: ",
)
BAR = "Loading shards:  25%|##5       | 1/4 [00:01<00:03,  1.2s/it]"


def journal(lines: list[str], pid: int = 7) -> list[JournalEntry]:
    return written([(pid, line) for line in lines])


@SLOW
@given(NODES)
def test_as_printed(node: Node) -> None:
    (found,) = read(journal(text_of(node)))
    assert read_of(found.exceptions) == wanted(node)
    assert all(item.complete for item in found.exceptions)


@SLOW
@given(NODES, st.sampled_from(PREFIXES))
def test_behind_a_prefix_on_each_line_of_a_text_file(node: Node, prefix: str) -> None:
    lines = [(prefix + line).rstrip() for line in text_of(node)]
    (found,) = read(plain("\n".join(lines)))
    assert read_of(found.exceptions) == wanted(node)


@SLOW
@given(
    NODES,
    st.sampled_from(("[2026-04-02 03:04:05 TP3] Scheduler hit an exception: ", "[04/02/2026-03:04:05] [TRT-LLM] [E] ", BAR)),
)
def test_behind_a_prefix_on_the_first_line_only(node: Node, prefix: str) -> None:
    first, *rest = text_of(node)
    (found,) = read(journal(["\r" + prefix + first, *rest, ""]))
    assert read_of(found.exceptions) == wanted(node)


@SLOW
@given(st.lists(NODES, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_interleaved_processes(nodes: list[Node], chance: random.Random) -> None:
    lines = {pid: text_of(node) for pid, node in enumerate(nodes, 10)}
    mixed: list[tuple[int, str]] = []
    while any(lines.values()):
        pid = chance.choice([pid for pid, left in lines.items() if left])
        mixed.append((pid, lines[pid].pop(0)))
    found = {block.pid: read_of(block.exceptions) for block in read(written(mixed))}
    assert found == {pid: wanted(node) for pid, node in enumerate(nodes, 10)}


@SLOW
@given(st.lists(NODES, min_size=2, max_size=3), st.randoms(use_true_random=False))
def test_interleaved_in_a_text_file_by_the_pid_of_the_prefix(nodes: list[Node], chance: random.Random) -> None:
    lines = {pid: text_of(node) for pid, node in enumerate(nodes, 10)}
    mixed: list[str] = []
    while any(lines.values()):
        pid = chance.choice([pid for pid, left in lines.items() if left])
        mixed.append(f"(Worker_TP{pid} pid={pid}) ERROR 04-02 03:04:05 [core.py:1101] {lines[pid].pop(0)}".rstrip())
    found = {block.pid: (block.rank, read_of(block.exceptions)) for block in read(plain("\n".join(mixed)))}
    assert found == {pid: (f"TP{pid}", wanted(node)) for pid, node in enumerate(nodes, 10)}


@SLOW
@given(NODES)
def test_whole_in_one_entry(node: Node) -> None:
    (found,) = read(journal(["\n".join(text_of(node))]))
    assert read_of(found.exceptions) == wanted(node)


@SLOW
@given(NODES, NODES)
def test_twice_and_glued(one: Node, other: Node) -> None:
    found = read(journal([*text_of(one), *text_of(other), *text_of(one)]))
    assert [read_of(block.exceptions) for block in found] == [wanted(one), wanted(other), wanted(one)]


@SLOW
@given(NODES, st.randoms(use_true_random=False))
def test_other_threads_records_in_between(node: Node, chance: random.Random) -> None:
    lines = text_of(node)
    for _ in range(3):
        last = max(index for index, line in enumerate(lines) if line.lstrip(" |").startswith('File "'))
        lines.insert(chance.randrange(1, last + 1), "[2026-04-02 03:04:05 TP3] Decode batch. #running-req: 1")
    (found,) = read(journal(lines))
    assert [item[0] for item in read_of(found.exceptions)] == [item[0] for item in wanted(node)]
    assert [len(item[3]) for item in read_of(found.exceptions)] == [len(item[3]) for item in wanted(node)]


def damage(lines: list[str], chance: random.Random) -> list[str]:
    """Cut, doubled, shuffled, garbled and newly prefixed."""
    lines = list(lines)
    for _ in range(chance.randrange(1, 6)):
        if not lines:
            break
        at = chance.randrange(len(lines))
        what = chance.randrange(6)
        if what == 0:
            del lines[at:]
        elif what == 1:
            del lines[:at]
        elif what == 2:
            lines[at:at] = lines[: chance.randrange(len(lines))]
        elif what == 3:
            chance.shuffle(lines)
        elif what == 4:
            cut = chance.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:cut] + "".join(map(chr, chance.choices(range(1, 0x3000), k=5))) + lines[at][cut:]
        else:
            lines[at] = chance.choice(PREFIXES) + lines[at]
    return lines


@SLOW
@given(st.lists(NODES, min_size=1, max_size=3), st.randoms(use_true_random=False), st.booleans())
def test_damaged_text_never_raises(nodes: list[Node], chance: random.Random, known: bool) -> None:
    lines = damage([line for node in nodes for line in text_of(node)], chance)
    blocks = read(journal(lines) if known else plain("\n".join(lines)))
    for block in blocks:
        for index, item in enumerate(block.exceptions):
            assert item.parent is None or 0 <= item.parent < index


@pytest.mark.parametrize("log", sorted(ROOT.glob("*/*/log.*")), ids=lambda path: path.parent.name)
def test_damaged_logs_never_raise(log: Path) -> None:
    lines = log.read_text("utf-8", "replace").split("\n")
    for seed in range(3):
        broken = damage(lines, random.Random(seed))  # noqa: S311 - the same damage each time
        read(plain("\n".join(broken)))
        read(journal(broken))


HOSTILE = (
    'File "' * 160_000,
    "a." * 500_000,
    "a" * 1_000_000 + ":",
    "[2026-04-02 03:04:05" + " TP1" * 250_000,
    "2026-04-02 03:04:05 " + "x " * 500_000,
    "(" + "a" * 1_000_000,
    "| " * 500_000,
    "+-" * 500_000,
    "~" * 1_000_000 + "x",
    "Exception in thread " * 50_000,
    "╭─" * 300_000 + " Traceback (most recent call last) ─╮",
    "Traceback (most recent call last):" * 30_000,
    "Foo(" + "a." * 500_000,
    "x" * 1_000_000 + ".py:1: ",
    "1%|" * 300_000 + " [1",
    "ray::" * 200_000 + "(pid=1",
)


def test_every_line_comes_to_an_end() -> None:
    frame = ["Traceback (most recent call last):", '  File "/a.py", line 1, in f']
    for evil in HOSTILE:
        for lines in ([evil], [*frame, evil], [*frame, "ValueError: x", evil, evil], [f"{evil}{frame[0]}", frame[1], evil]):
            with ends():
                read(journal(lines))


def test_endless_tracebacks_stay_small() -> None:
    reader = Tracebacks()
    entries = written([(pid, "x") for pid in range(1000)])
    tracemalloc.start()
    for text in (
        "Traceback (most recent call last):",
        '  File "/a.py", line 1, in f',
        "ValueError: " + "y" * 1000,
        *["z" * 900] * 20,
    ):
        for entry in entries:
            for line in LineAssembler().feed(entry._replace(message=text)):
                reader.feed(line, read_prefix(line.text))
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 20_000_000
