"""Which of several failures is the root: doubles, hangs, the host's word, a server that goes on, several starts in one text."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

from ddtree_ops.flows.triage_follow import follow_bytes
from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Role, Verdict
from tests.triage.journals import START_US, written
from tests.triage.test_diagnose import DATE, UP, crash, diagnose, feed, kinds

TRACEBACK = """Traceback (most recent call last):
  File "/opt/sgl/python/sglang/srt/managers/cache.py", line 7, in store
    write(blob)
{}
"""
BATCH = "[2026-11-29 18:40:0{} TP0] Decode batch, #running-req: 1, #token: 10, token usage: 0.01\n"
ARGUMENTS = "[2026-11-29 18:3{}:00] server_args=ServerArgs(model_path='/m', tp_size={})\n"


def text(*parts: str) -> FailureReport:
    return triage_bytes(["".join(parts).encode()])


def told(report: FailureReport) -> list[tuple[Role, Kind]]:
    return [(item.role, item.kind) for item in report.failures]


def test_a_bare_traceback_is_no_root_where_the_server_goes_on() -> None:
    report = text(TRACEBACK.format("KeyError: 'x'"), *(BATCH.format(second) for second in range(8)))
    assert (report.verdict, told(report)) == (Verdict.NO_FAILURE, [(Role.NOISE, Kind.UNKNOWN)])


def test_a_few_lines_after_it_do_not_make_a_server_live() -> None:
    report = text(BATCH.format(1), TRACEBACK.format("KeyError: 'x'"), BATCH.format(2), BATCH.format(3))
    assert told(report) == [(Role.ROOT, Kind.UNKNOWN)]


def test_what_the_process_wrote_before_an_unknown_failure_is_kept() -> None:
    said = [(60, f"{DATE} TP0] step {number}") for number in range(12)]
    (root,) = diagnose([*said, (61, f"{DATE} TP1] other"), *crash(60, " TP0", "KeyError: 'x'")]).failures
    assert [item.text[-6:] for item in root.context] == [f"step {n}"[-6:] for n in range(4, 12)]


def test_two_starts_in_one_text_are_two_runs() -> None:
    """The first one is stopped in peace; its SIGTERM must not make noise of the second one's crash."""
    stop = "[2026-11-29 18:31:00] SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n"
    dead = "[2026-11-29 18:35:01 TP0] Scheduler hit an exception: " + TRACEBACK.format("KeyError: 'x'")
    report = text(ARGUMENTS.format(0, 1), stop, ARGUMENTS.format(5, 2), dead)
    assert told(report) == [(Role.ROOT, Kind.UNKNOWN)]


def test_a_hang_gives_way_to_an_error_that_came_after_it_began() -> None:
    timeout = (
        "torch.distributed.DistBackendError: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7,"
        " OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600018 milliseconds before timing out."
    )
    found = diagnose([*UP, *crash(61, " TP1", timeout), *crash(60, " TP0", "KeyError: 'x'")])
    assert kinds(found)[0] == (Role.ROOT, Kind.UNKNOWN)
    assert (Role.CONSEQUENCE, Kind.NCCL_TIMEOUT) in kinds(found)


def test_the_kernels_word_explains_a_parent_that_lost_its_child() -> None:
    kernel = written([(60, f"{DATE} TP0] Load weight begin. avail mem=1 GB")])
    line = "Out of memory: Killed process 60 (sglang::schedul) total-vm:5kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:990"
    killed = kernel[0]._replace(message=line, pid=None, comm=None, transport="kernel", unit=None, invocation_id=None)
    parent = written([(50, part) for part in TRACEBACK.format("EOFError").splitlines()])
    root = feed([*kernel, killed, *parent]).failures[0]
    assert (root.kind, root.confidence) == (Kind.HOST_OOM, Confidence.CERTAIN)
    assert [item.type for item in root.exceptions] == ["EOFError"]


def test_a_rank_that_ended_by_sigkill_while_loading_is_likely_out_of_memory() -> None:
    lines = (
        "[2026-11-29 18:30:10] Rank 3 scheduler is dead. Please check if there are relevant logs.\n"
        "[2026-11-29 18:30:12] Exit code: {}\n"
    )
    eof = TRACEBACK.format("EOFError")
    (root,) = text("[2026-11-29 18:30:00 TP3] Load weight begin.\n", lines.format(-9), eof).failures
    assert (root.kind, root.confidence, root.processes[0].rank) == (Kind.HOST_OOM, Confidence.LIKELY, "Rank 3")
    served = text("[2026-11-29 18:30:00] The server is fired up and ready to roll!\n", lines.format(137), eof).failures[0]
    assert (served.kind, [item.type for item in served.exceptions]) == (Kind.SIGKILL_UNKNOWN, ["EOFError"])
    assert text(lines.format(-11), eof).failures[0].kind is Kind.NATIVE_SEGFAULT
    assert text(lines.format(1), eof).failures[0].kind is Kind.UNKNOWN


LATER = "[2026-11-29 20:40:00 TP0] Scheduler hit an exception: "


def test_what_a_server_lived_on_after_is_no_root_of_a_later_crash() -> None:
    """An error of long ago, a port of another program, must not explain what happens hours after."""
    full = "cp: error writing '/data/x': No space left on device\n"
    report = text(full, *(BATCH.format(second) for second in range(8)), LATER, TRACEBACK.format("ZeroDivisionError: x"))
    roots = [item for item in report.failures if item.role is Role.ROOT]
    assert [(item.kind, item.exceptions[0].type) for item in roots] == [(Kind.UNKNOWN, "ZeroDivisionError")]


def test_what_the_kernel_said_days_before_the_run_is_no_root() -> None:
    days = 3 * 86_400 * 1_000_000
    (line, *_) = written([(1, "Out of memory: Killed process 77 (python3) total-vm:5kB, anon-rss:4kB, UID:0")])
    kernel = line._replace(pid=None, comm=None, transport="kernel", unit=None, invocation_id=None)
    old = kernel._replace(realtime_us=START_US - days)
    found = feed([old, *written([*UP, *crash(60, " TP0", "KeyError: 'x'")])])
    assert kinds(found)[0] == (Role.ROOT, Kind.UNKNOWN)
    near = kernel._replace(realtime_us=START_US - 60_000_000)
    assert kinds(feed([near, *written([(60, f"{DATE} TP0] Load weight begin.")])]))[0] == (Role.ROOT, Kind.HOST_OOM)


def test_a_child_that_the_server_killed_itself_is_no_cause() -> None:
    tree = (50, f"{DATE}] kill_process_tree called: parent_pid=50, include_parent=False, pid=50")
    dead = (50, f"{DATE}] Subprocess detokenizer (pid=61) crashed with exit code -9. Triggering SIGQUIT for cleanup...")
    (root,) = diagnose([*UP, tree, dead]).failures
    assert (root.kind, root.cause) == (Kind.UNKNOWN, None)
    (killed,) = diagnose([*UP, dead, tree]).failures
    assert killed.kind is Kind.PEER_RANK_KILLED


def test_a_failure_is_told_while_the_log_still_arrives() -> None:
    """Nothing follows the traceback, and nobody closes the stream: the report comes all the same."""
    arrived = threading.Event()

    def chunks() -> Iterator[bytes]:
        yield (LATER + TRACEBACK.format("KeyError: 'x'")).encode()
        arrived.wait(20)

    report = follow_bytes(chunks(), None, None, now_us=1_795_977_000_000_000)
    arrived.set()
    assert report is not None
    assert report.root is not None
    assert report.root.exceptions[0].type == "KeyError"
    assert follow_bytes(iter([b"all is well\n"]), None, None, now_us=0) is None


def test_a_logged_traceback_that_is_all_there_is_is_a_failure() -> None:
    """One line of a structured log: nothing shows a server that could have gone on."""
    line = {"ts": "2026-11-29T12:00:00Z", "level": "error", "msg": TRACEBACK.format("RuntimeError: boom")}
    report = text(json.dumps(line) + "\n")
    assert (report.verdict, told(report)) == (Verdict.FAILURE, [(Role.ROOT, Kind.UNKNOWN)])
