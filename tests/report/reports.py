"""Reports for tests: of the recorded journals, and one with every part that a report can have."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ddtree_ops.report.entries import triage_bytes, triage_entries
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.triage.block import Device, Evidence, Frame, Language, ParsedException, Relation, Thread
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Event, Failure, FailurePhase, Number, Process, Role
from tests.triage.journals import CASES, plain, recorded

HOSTILE = (
    "ValueError: \x1b]0;title\x07\x1b[2Jcleared \u202egnp.exe\u2066 \x9b31m \x00 ``` </script>"
    "<script>alert(1)</script><img src=x> [a](javascript:b) @everyone #12 \ud800 <!-- # x '\"><svg onload=alert(2)> {{ 7*7 }}"
    " | a | b | https://evil.example/x </details>"
)
_SITE = "/opt/ddtree/current/venv/lib/python3.12/site-packages/"


@cache
def of(name: str) -> FailureReport:
    """The report of a recorded journal."""
    return triage_entries(recorded(name), host="ct200")


@cache
def of_case(name: str) -> FailureReport:
    """The report of a golden case."""
    (log,) = (path for path in (CASES.parent / name).iterdir() if path.name.startswith(("log.", "journal.")))
    return triage_bytes([log.read_bytes()], host="ct200")


def hostile() -> FailureReport:
    """A log whose every place tries to break out."""
    lines = [
        "[2026-04-02 03:04:05 TP1] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/opt/`x`/\x1b[31m<script>red.py", line 1, in <b>',
        "    code```more\x1b[2J</pre><script>alert(3)</script>",
        HOSTILE,
        "```",
        "# second line",
        "</pre></article><script>alert(4)</script>",
    ]
    return triage_entries(plain("\n".join(lines)), host="h\x1b[1m<i>", unit="u`\n# x")


def full() -> FailureReport:
    """Threads, devices, notes, source, a group, other languages, times, several roles: all that the schema has."""
    base = of("tp2_ddtree_shape")
    file = f"{_SITE}sglang/srt/managers/scheduler.py"
    own = Frame(
        file, 3110, "run_batch", "result = forward(", True, source=("  3109 | a", "> 3110 | result = forward(", "  3111 | b")
    )
    library = Frame(f"{_SITE}torch/nn/module.py", 7, "call", "f()", False, repeated=3)
    exceptions = (
        ParsedException("ExceptionGroup", "two (2 sub-exceptions)", None, (library, own)),
        ParsedException("ValueError", "one", Relation.GROUP, (own,), parent=0, notes=("a note", "another\nof two lines")),
        ParsedException("c10::Error", "two\nwith lines", Relation.GROUP, (), complete=False, parent=0, language=Language.CPP),
    )
    root = Failure(
        fingerprint="0123456789abcdef",
        kind=Kind.SCHEDULER_HANG,
        title="The scheduler stood still",
        role=Role.ROOT,
        phase=FailurePhase.SERVING,
        first_us=base.failures[0].first_us,
        last_us=base.failures[0].last_us,
        count=3,
        processes=(Process(912, "TP0", "sglang::schedul"), Process(None, None, None)),
        exceptions=exceptions,
        numbers=(
            Number(8, "block size = 8", "the log"),
            Number(33, "budget + 1 = 33", "/server_info"),
            Number(8, "tp = 8", "the log"),
        ),
        evidence=(Evidence("s=1;i=2", 4, base.failures[0].first_us, "ExceptionGroup: two (2 sub-exceptions)"),),
        cause="It waits for a peer.",
        fixes=("Restart it.", "Look at GPU 3."),
        confidence=Confidence.LIKELY,
        devices=(Device(3, "0000:a1:00.0", True), Device(None, None)),
        threads=(
            Thread("0x1", None, False, (library,)),
            Thread("0x2", None, False, (library,)),
            Thread("0x3", "MainThread", True, (library, own)),
        ),
        context=(Evidence("s=1;i=1", 3, base.failures[0].first_us, "what came before"),),
    )
    other = replace(root, role=Role.CONSEQUENCE, kind=Kind.PEER_RANK_FAILED, fingerprint="f" * 16, exceptions=(), context=())
    noise = replace(other, role=Role.NOISE, kind=Kind.SHUTDOWN_NOISE, title="not destroyed")
    events = (Event(None, "source_differs", f"{file} is not the file that the release installed"), *base.events)
    return replace(base, failures=(root, other, noise), events=events)
