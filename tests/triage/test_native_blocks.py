"""Blocks of native failures as they stand in logs: frames, tables, assertions, margins, repeats."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.cpp_frames import parse_cpp_frame, raised_at
from ddtree_ops.triage.blocks.device_assert import read_assert
from ddtree_ops.triage.blocks.elastic import FailedRank, read_line, read_table
from tests.triage.journals import written
from tests.triage.native import of_process, of_text, read

LIB = "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so"
ASSERT = (
    "/pytorch/aten/src/ATen/native/cuda/IndexKernel.cu:93: operator(): block: [{},0,0], thread: [{},0,0] Assertion `{}` failed."
)
WATCHDOG = (
    "[rank5]:[E402 03:04:05.1 ProcessGroupNCCL.cpp:607] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7,"
)
TIMEOUT = (
    WATCHDOG + " OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600018 milliseconds before timing out."
)


@pytest.mark.parametrize(
    ("text", "number", "function", "file"),
    [
        (f"frame #1: c10d::watchdogHandler() + 0x233 (0x7f00 in {LIB})", 1, "c10d::watchdogHandler()", LIB),
        (f"frame #12: <unknown function> + 0xab012 (0x7f00 in {LIB})", 12, "<unknown function>", LIB),
        ("frame #3: python() [0x4e8b2a]", 3, "python()", ""),
        ("frame #4: std::function<void (int)>::operator()(int) const + 0x4 (0x55 in /usr/bin/x (deleted))", 4, None, None),
        ("#7 c10d::checkTimeout() from ProcessGroupNCCL.cpp:0", 7, "c10d::checkTimeout()", "ProcessGroupNCCL.cpp"),
    ],
)
def test_cpp_frames(text: str, number: int, function: str | None, file: str | None) -> None:
    found = parse_cpp_frame(text)
    assert found is not None
    assert found[0] == number
    if function is not None:
        assert (found[1].function, found[1].file) == (function, file)


def test_the_place_that_raised_may_have_a_long_name() -> None:
    place = raised_at("Exception raised from operator() at ../aten/src/ATen/x.cpp:12 (most recent call first):")
    assert place is not None
    assert (place.function, place.file, place.line, place.in_app) == ("operator()", "../aten/src/ATen/x.cpp", 12, False)
    assert raised_at("Exception raised from nowhere") is None


def test_the_second_stack_of_a_handler_is_no_part_of_the_first() -> None:
    frames = [f"frame #{number}: f{number}() + 0x1 (0x7f in {LIB})" for number in range(3)]
    again = "Exception raised from ncclCommWatchdog at /pytorch/P.cpp:1902 (most recent call first):"
    lines = [
        "terminate called after throwing an instance of 'c10::Error'",
        "  what():  gone",
        "Exception raised from check at /pytorch/P.cpp:63 (most recent call first):",
        *frames,
        "",
        again,
        *frames[:2],
    ]
    (block,) = of_process(lines)
    assert [frame.function for frame in block.ending.frames] == ["f2()", "f1()", "check"]


def test_repeated_prints_of_a_watchdog_are_one_block_of_its_rank() -> None:
    (block,) = of_text([TIMEOUT, f"frame #0: f() + 0x1 (0x7f in {LIB})", "", TIMEOUT])
    assert (block.origin, block.rank) == (Origin.COLLECTIVE, "rank5")
    assert block.text.count("Watchdog caught") == 2


def test_a_watchdogs_words_in_an_exception_are_the_exceptions() -> None:
    assert of_text(["RuntimeError: [Rank 0]: Rank 2 failed to pass monitoredBarrier in 2000 ms"]) == []


def test_assertions_collapse_with_their_number() -> None:
    lines = [ASSERT.format(block, thread, "i >= 0") for block in range(3) for thread in range(40)]
    (block,) = of_process([*lines, ASSERT.format(0, 0, "other")])
    assert block.origin is Origin.DEVICE_ASSERT
    assert [line.rpartition(" (")[2] for line in block.lines] == ["120 such lines)", "1 such lines)"]
    found = read_assert(block.lines[0])
    assert found is not None
    assert (found.line, found.function, found.condition) == (93, "operator()", "i >= 0")


TABLE = """
============================================================
serve.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-29_23:11:02
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 4000)  (SIGTERM)
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-29_23:11:02
  rank      : 3 (local_rank: 1)
  exitcode  : -9 (pid: 4001)  (SIGKILL)
  traceback : Signal 9 (SIGKILL) received by PID 4001
============================================================
"""


def test_torchelastics_table() -> None:
    assert read_table(TABLE) == (FailedRank(0, -15, 4000, False), FailedRank(3, -9, 4001, True))
    (block,) = of_process(TABLE.splitlines())
    assert (block.origin, block.subjects) == (Origin.ELASTIC, (4001,))


def test_torchelastics_log_line() -> None:
    line = "E1129 23:11:02.9 3995 torch/api.py:1002] failed (exitcode: -11) local_rank: 1 (pid: 4001) of binary: /usr/bin/python3"
    assert read_line(line) == FailedRank(1, -11, 4001, True)


PYSPY = """
Process 41: sglang::scheduler_TP1
Python v3.12.3 (/usr/bin/python3.12)

Thread 41 (active+gil): "MainThread"
    nanosleep (libc.so.6)
    run_batch (managers/scheduler.py:2391)
        Arguments:
            batch: <ScheduleBatch at 0x7f (size 3)>
    <module> (<string>:1)
    0x7fae9a64524a (libc.so.6)
Thread 45 (idle): "watchdog (2)"
    Thread.run (threading.py:1010)
"""


@pytest.mark.parametrize("head", ["", "[2026-04-02 03:05:50 TP1] Pyspy dump for PID 41 (py-spy dump --pid 41):"])
def test_py_spy(head: str) -> None:
    (block,) = of_process([*([head] if head else []), *PYSPY.strip().splitlines()])
    main, other = block.threads
    assert (main.id, main.name, main.current, other.name, other.current) == ("41", "MainThread", True, "watchdog (2)", False)
    names = [(frame.function, frame.file, frame.line) for frame in main.frames]
    assert names[1:3] == [("<module>", "<string>", 1), ("run_batch", "managers/scheduler.py", 2391)]
    assert names[-1] == ("nanosleep", "libc.so.6", None)
    assert block.exceptions == ()
    assert block.subjects == ((41,) if head else ())


@pytest.mark.parametrize("margin", ["sglang-1  | ", "(RayWorkerWrapper pid=24036) ", "[default3]:", "node7: "])
def test_a_margin_before_every_line(margin: str) -> None:
    lines = [
        "Fatal Python error: Segmentation fault",
        "",
        "Current thread 0x00007f61 [main] (most recent call first):",
        '  File "/opt/app/a.py", line 9 in forward',
        "  ...",
        "",
        "Current thread's C stack trace (most recent call first):",
        '  Binary file "/usr/bin/python3.14", at _Py_DumpStack+0x3a [0x55d1a1]',
        "",
        "Extension modules: numpy (total: 1)",
        "next line of the process",
    ]
    (block,) = of_text([margin + line for line in lines])
    (thread,) = block.threads
    assert (thread.name, len(thread.frames)) == ("main", 1)
    assert "next line" not in block.text


@pytest.mark.parametrize(
    "line",
    [
        "Segmentation fault (core dumped)",
        "run.sh: line 12:  4711 Segmentation fault      (core dumped) python -m sglang.launch_server",
        "*** SIGSEGV received at time=1709021359 on cpu 44 ***",
        "*** SIGBUS (@0x7f3c) received by PID 4711 ***",
        "free(): invalid pointer",
        "malloc(): corrupted top size",
        "corrupted size vs. prev_size",
        "*** stack smashing detected ***: terminated",
        "!!!!!!! Segfault encountered !!!!!!!",
    ],
)
def test_lines_of_a_crash(line: str) -> None:
    (block,) = of_process([line])
    assert block.origin is Origin.LINE


@pytest.mark.parametrize(
    "line",
    [
        "[2026-04-02 03:04:05 TP0] Receive: text='what does free(): invalid pointer mean?'",
        "[2026-04-02 03:04:05 TP0] text='CUDA error: an illegal memory access was encountered'",
        "the answer to Segmentation fault (core dumped) is a core dump",
        "[2026-04-02 03:04:05] terminate called after throwing an instance of 'x'",
    ],
)
def test_words_that_are_quoted_begin_nothing(line: str) -> None:
    assert of_process([line]) == []


def test_blocks_of_two_ranks_stay_apart_and_end_in_time() -> None:
    first = "terminate called after throwing an instance of 'A'"
    lines = [(7, first), (8, first.replace("'A'", "'B'")), (7, "  what():  of seven"), (8, "  what():  of eight")]
    blocks = read(written(lines))
    assert {(block.pid, block.ending.message) for block in blocks} == {(7, "of seven"), (8, "of eight")}
    late = read(written([(7, first), (7, "  what():  of seven"), (7, "much later")], step_us=300_000))
    assert [block.ending.message for block in late] == [""]
