"""Root, consequence and noise; deaths without a traceback; several runs."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import JournalEntry, LineBreak
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Diagnosis, FailurePhase, Role, Verdict
from tests.triage.journals import plain, recorded, written

DATE = "[2026-11-29 18:38:31"
KILLED = (1, "ddtree-server@30000.service: Main process exited, code=killed, status=9/KILL")
SIGQUIT = (50, f"{DATE}] SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
UP = [
    (60, f"{DATE} TP0] Load weight begin. avail mem=1 GB"),
    (61, f"{DATE} TP1] Load weight begin. avail mem=1 GB"),
    (62, f"{DATE} TP2] Load weight begin. avail mem=1 GB"),
    (50, f"{DATE}] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)"),
    (50, f"{DATE}] The server is fired up and ready to roll!"),
]
GLOO = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:24180"


def crash(pid: int, rank: str, exception: str, header: str = "Scheduler hit an exception: ") -> list[tuple[int, str]]:
    return [
        (pid, f"{DATE}{rank}] {header}Traceback (most recent call last):"),
        (pid, '  File "/opt/sgl/python/sglang/srt/managers/scheduler.py", line 1418, in event_loop_overlap'),
        (pid, "    self.run_batch(batch)"),
        (pid, exception),
        (pid, ""),
    ]


def diagnose(lines: list[tuple[int, str]]) -> Diagnosis:
    return feed(written(lines))


def feed(entries: list[JournalEntry]) -> Diagnosis:
    diagnoser = Diagnoser()
    for entry in entries:
        diagnoser.feed(entry)
    return diagnoser.finish()


def kinds(diagnosis: Diagnosis) -> list[tuple[Role, Kind]]:
    return [(item.role, item.kind) for item in diagnosis.failures]


def test_a_silent_rank_that_every_other_lost_is_the_root() -> None:
    found = diagnose([*UP, *crash(60, " TP0", GLOO), *crash(62, " TP2", GLOO), SIGQUIT, KILLED])
    root, consequence = found.failures
    assert kinds(found) == [(Role.ROOT, Kind.PEER_RANK_KILLED), (Role.CONSEQUENCE, Kind.PEER_RANK_FAILED)]
    assert [(item.pid, item.rank) for item in root.processes] == [(61, "TP1")]
    assert (root.confidence, root.phase, consequence.count) == (Confidence.LIKELY, FailurePhase.SERVING, 2)
    assert root.evidence[0].text == UP[1][1]


def test_the_watchdogs_word_makes_a_killed_rank_certain() -> None:
    watchdog = (50, f"{DATE}] Subprocess scheduler_1 (pid=61) crashed with exit code -9. Triggering SIGQUIT for cleanup...")
    (root,) = diagnose([*UP, watchdog]).failures
    assert (root.kind, root.confidence) == (Kind.PEER_RANK_KILLED, Confidence.CERTAIN)
    assert [item.rank for item in root.processes] == ["TP1"]


def phases(entries: list[JournalEntry]) -> list[str]:
    return [event.text for event in feed(entries).events if event.kind == "phase"]


def test_a_phase_line_that_journald_split_is_read_whole() -> None:
    first, rest = written([(50, f"{DATE}] The server is fi"), (50, "red up and ready to roll!")])
    assert phases([*written(UP[:1]), first._replace(line_break=LineBreak.PID_CHANGE), rest]) == ["weights", "serving"]


def test_only_records_of_the_leading_rank_move_the_phase() -> None:
    ranks = ("TP1", "DP0 TP1", "DP1 TP0")
    assert phases(written([(60, f"{DATE} {rank}] Load weight begin.") for rank in ranks])) == []
    assert phases(written([(60, f"{DATE} DP0 TP0] Load weight begin.")])) == ["weights"]
    assert phases(written([(60, f"\r 25%|#   | 1/4 [00:01<00:02,  1.0s/it]{DATE}] Load weight begin.")])) == ["weights"]


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_prompts_second_line_moves_no_phase(end: str) -> None:
    """A record's text of several lines: journald makes entries of its own of them, native senders one entry."""
    said = "The server is fired up and ready to roll!"
    record = f"{DATE}] Receive: obj=GenerateReqInput(text='"
    assert phases(written([(50, f"{record}{end}{said}')")] if end else [(50, record), (50, said)])) == []


def test_a_lost_peer_is_a_consequence_of_the_rank_that_says_why() -> None:
    found = diagnose([*UP, *crash(60, " TP0", GLOO), *crash(61, " TP1", "KeyError: 'x'"), SIGQUIT])
    assert kinds(found) == [(Role.ROOT, Kind.UNKNOWN), (Role.CONSEQUENCE, Kind.PEER_RANK_FAILED)]
    assert [item.rank for item in found.failures[0].processes] == ["TP1"]


def test_of_several_silent_ranks_all_are_named_with_low_confidence() -> None:
    found = diagnose([*UP, *crash(60, " TP0", GLOO), SIGQUIT])
    assert kinds(found) == [(Role.ROOT, Kind.PEER_RANK_KILLED), (Role.CONSEQUENCE, Kind.PEER_RANK_FAILED)]
    assert [item.rank for item in found.failures[0].processes] == ["TP1", "TP2"]
    assert found.failures[0].confidence is Confidence.LOW


def test_a_rank_that_the_server_looked_at_after_the_crash_was_not_killed() -> None:
    looked = (50, f"{DATE}] Pyspy failed (py-spy dump --native --pid 61). Error: /bin/sh: 1: py-spy: not found")
    root = diagnose([*UP, *crash(60, " TP0", GLOO), SIGQUIT, looked, KILLED]).failures[0]
    assert ([item.rank for item in root.processes], root.confidence) == (["TP2"], Confidence.LIKELY)


def test_a_peer_that_only_fell_behind_was_not_killed() -> None:
    slow = "ValueError: TP rank 0 could finish the model loading, but there are other ranks that didn't finish loading."
    assert kinds(diagnose([*UP, *crash(60, " TP0", slow), SIGQUIT])) == [(Role.ROOT, Kind.PEER_RANK_FAILED)]


def test_the_first_of_two_different_failures_is_the_root() -> None:
    found = diagnose([*UP, *crash(61, " TP1", "KeyError: 'x'"), *crash(60, " TP0", "ValueError: y"), SIGQUIT])
    assert [(item.role, item.title) for item in found.failures] == [
        (Role.ROOT, "KeyError: 'x'"),
        (Role.CONSEQUENCE, "ValueError: y"),
    ]


def test_a_failed_request_is_no_failure_of_the_server() -> None:
    request = crash(50, "", "ValueError: bad", header="ERROR:    Exception in ASGI application ")
    found = diagnose([*UP, *request, (50, f'{DATE}] INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK')])
    assert (found.verdict, kinds(found)) == (Verdict.NO_FAILURE, [(Role.REQUEST, Kind.REQUEST_ERROR)])


def test_an_exception_after_sigterm_is_shutdown_noise() -> None:
    stop = (50, f"{DATE}] SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    found = diagnose([*UP, stop, *crash(60, " TP0", GLOO.replace("closed by peer", "refused")), KILLED])
    assert (found.verdict, kinds(found)) == (Verdict.NO_FAILURE, [(Role.NOISE, Kind.SHUTDOWN_NOISE)])


def test_a_logged_traceback_in_a_server_that_lives_is_noise() -> None:
    lines = [*UP, *crash(60, " TP0", "OSError: cache", header="Could not write the cache: "), (60, f"{DATE} TP0] Decode batch")]
    assert kinds(diagnose(lines)) == [(Role.NOISE, Kind.UNKNOWN)]


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ([KILLED], Kind.SIGKILL_UNKNOWN),
        ([(1, "ddtree-server@30000.service: A process of this unit has been killed by the OOM killer."), KILLED], Kind.HOST_OOM),
        ([(1, "ddtree-server@30000.service: start operation timed out. Terminating."), KILLED], Kind.SYSTEMD_START_TIMEOUT),
        ([(1, "ddtree-server@30000.service: Main process exited, code=dumped, status=11/SEGV")], Kind.NATIVE_SEGFAULT),
        ([(1, "ddtree-server@30000.service: Main process exited, code=exited, status=70/SOFTWARE")], Kind.UNKNOWN),
        ([SIGQUIT, KILLED], Kind.UNKNOWN),
    ],
)
def test_deaths_without_a_traceback(lines: list[tuple[int, str]], kind: Kind) -> None:
    found = diagnose([*UP, *lines])
    assert kinds(found) == [(Role.ROOT, kind)]
    assert found.failures[0].evidence
    if kind in (Kind.SIGKILL_UNKNOWN, Kind.UNKNOWN, Kind.NATIVE_SEGFAULT):
        assert found.failures[0].cause is None


@pytest.mark.parametrize(
    ("line", "kind", "title"),
    [
        ("launch_server.py: error: unrecognized arguments: --foo 1", Kind.UNKNOWN_ARGUMENT, "Unknown argument --foo 1"),
        (
            f"{DATE}] ERROR:    [Errno 98] error while attempting to bind on address ('::1', 30000): address already in use",
            Kind.PORT_IN_USE,
            "Port 30000 is in use",
        ),
    ],
)
def test_failures_told_in_one_line(line: str, kind: Kind, title: str) -> None:
    found = diagnose([(50, line), (1, "ddtree-server@30000.service: Main process exited, code=exited, status=2/INVALIDARGUMENT")])
    assert kinds(found) == [(Role.ROOT, kind)]
    assert (found.failures[0].title, found.failures[0].exceptions) == (title, ())


def test_only_process_one_speaks_for_systemd() -> None:
    found = diagnose([*UP, (60, KILLED[1]), (60, f"{DATE} TP0] prompt: 'SIGQUIT received. signum=None'")])
    assert (found.verdict, found.failures) == (Verdict.NO_FAILURE, ())


def test_a_restart_loop_counts_one_failure() -> None:
    first = recorded("mem_fraction_too_small")
    again = [
        entry._replace(invocation_id="2" * 32, realtime_us=(entry.realtime_us or 0) + 60_000_000, pid=(entry.pid or 0) + 5)
        for entry in first
        if entry.pid != 1
    ]
    found = feed([*first, *again])
    (failure,) = found.failures
    assert (failure.kind, failure.count, found.invocation) == (Kind.KV_POOL_TOO_SMALL, 2, "2" * 32)


def test_what_it_cannot_read_is_inconclusive() -> None:
    assert feed([]).verdict is Verdict.INCONCLUSIVE
    assert feed(plain("some other program's\noutput")).verdict is Verdict.INCONCLUSIVE
    begun = feed(recorded("dflash_ok")[:40])
    assert begun.verdict is Verdict.INCONCLUSIVE
    (unfinished,) = (event.text for event in begun.events if event.kind == "unfinished_start")
    assert unfinished.startswith("the log ends during ")
    assert feed(recorded("dflash_ok")).verdict is Verdict.NO_FAILURE


def test_a_bare_traceback_before_the_exit_is_what_ended_the_process() -> None:
    traceback = [text for _, text in crash(50, "", "ValueError: bad argument")][1:-1]
    lines = [(50, "Traceback (most recent call last):"), *((50, text) for text in traceback)]
    (root,) = diagnose([*lines, (1, "ddtree-server@30000.service: Main process exited, code=exited, status=1/FAILURE")]).failures
    assert (root.role, root.title) == (Role.ROOT, "ValueError: bad argument")
