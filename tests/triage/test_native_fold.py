"""Which pieces become one failure, and which stay apart."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Diagnosis, Role
from tests.triage.journals import written

ASSERT = '/a.cu:16: gather: block: [0,0,0], thread: [{},0,0] Assertion `i < n && "index out of bounds"` failed.'
TRIGGERED = (
    "[2026-04-02 03:00:50 {}] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/opt/sgl/scheduler.py", line 3, in event_loop_normal',
    "    self.run_batch()",
    "torch.AcceleratorError: CUDA error: device-side assert triggered",
)
WARNING = "gpu-a:402:402 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]"
NCCL = (
    "Traceback (most recent call last):",
    '  File "/opt/app/serve.py", line 3, in main',
    "    dist.barrier()",
    "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
)


def diagnosed(lines: Sequence[tuple[int, str]], *, step_us: int = 100) -> Diagnosis:
    diagnoser = Diagnoser()
    for entry in written(lines, step_us=step_us):
        diagnoser.feed(entry)
    return diagnoser.finish()


def told(found: Diagnosis) -> list[tuple[Role, Kind, int]]:
    return [(item.role, item.kind, item.count) for item in found.failures]


def test_assertion_lines_and_the_exception_of_their_process_are_one() -> None:
    found = diagnosed([*((60, ASSERT.format(n)) for n in range(50)), *((60, line.format("TP0")) for line in TRIGGERED)])
    assert told(found) == [(Role.ROOT, Kind.DEVICE_ASSERT_BAD_INDEX, 1)]
    (failure,) = found.failures
    assert [item.type for item in failure.exceptions] == ["torch.AcceleratorError"]
    assert "gather (a.cu:16)" in (failure.cause or "")


def test_those_of_another_process_tell_nothing_of_it() -> None:
    found = diagnosed([*((61, ASSERT.format(n)) for n in range(50)), *((60, line.format("TP0")) for line in TRIGGERED)])
    assert len(found.failures) == 2
    assert {(len(item.exceptions), item.processes[0].pid) for item in found.failures} == {(0, 61), (1, 60)}


def test_lines_that_come_after_the_exception_belong_to_it_too() -> None:
    found = diagnosed([*((60, line.format("TP0")) for line in TRIGGERED), (60, ""), *((60, ASSERT.format(n)) for n in range(50))])
    assert told(found) == [(Role.ROOT, Kind.DEVICE_ASSERT_BAD_INDEX, 1)]


def test_a_warning_joins_the_error_that_follows_but_not_one_much_later() -> None:
    soon = diagnosed([(60, WARNING), *((60, line) for line in NCCL)])
    late = diagnosed([(60, WARNING), (60, "quiet"), *((60, line) for line in NCCL)], step_us=200_000_000)
    assert "libibverbs" in (soon.failures[0].cause or "")
    assert all("libibverbs" not in (item.cause or "") for item in late.failures)


def test_a_warning_or_a_dump_alone_is_no_failure() -> None:
    dump = ["Thread 0x00007f61 (most recent call first):", '  File "/opt/app/a.py", line 9 in wait', ""]
    found = diagnosed([(60, WARNING), *((60, line) for line in dump)])
    assert found.failures == ()


def test_hundreds_of_pieces_become_few_failures() -> None:
    lines = [(pid, line.format(pid)) for pid in range(100, 400) for line in (ASSERT.format(1), *TRIGGERED)]
    assert len(diagnosed(lines, step_us=1).failures) <= 4
