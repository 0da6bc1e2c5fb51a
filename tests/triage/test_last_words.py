"""The launcher's last words: the title of a death that left no exception, and never somebody else's text."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.last_words import says_why
from ddtree_ops.triage.model import Confidence, Diagnosis, Role, Verdict
from tests.triage.journals import written
from tests.triage.test_diagnose import DATE, KILLED, SIGQUIT, UP, crash, diagnose, feed

LAUNCHER = 40
SAID = "ddtree launcher: "


def exited(status: int) -> tuple[int, str]:
    return (1, f"ddtree-server@30000.service: Main process exited, code=exited, status={status}/X")


def titles(diagnosis: Diagnosis) -> list[tuple[Role, Kind, str]]:
    return [(item.role, item.kind, item.title) for item in diagnosis.failures]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("refused: credential api_key: is empty", 78),
        ("refused: argument --tp-size: invalid int value: 'x'", 78),
        ("crashed: server exited with status 3", 70),
        ("stalled: nothing moved for 600 s in weights (last: reads)", 75),
    ],
)
@pytest.mark.parametrize("systemd_spoke", [True, False])
def test_words_are_title_and_evidence(words: str, status: int, systemd_spoke: bool) -> None:
    line = f"{SAID}{words} (exit {status})"
    found = diagnose([(LAUNCHER, line), *([exited(status)] if systemd_spoke else [])])
    (root,) = found.failures
    assert titles(found) == [(Role.ROOT, Kind.UNKNOWN, words)]
    assert (found.verdict, root.cause, root.confidence) == (Verdict.FAILURE, None, Confidence.UNKNOWN)
    assert root.evidence[0].text == line
    assert root.exceptions == ()
    assert says_why(root)


@pytest.mark.parametrize("status", [78, 70])
def test_a_bare_line_is_the_refusal_that_the_exit_status_tells_of(status: int) -> None:
    found = diagnose([(LAUNCHER, f"{SAID}credential api_key: is empty"), exited(status)])
    (root,) = found.failures
    assert (root.title == "refused: credential api_key: is empty") is (status == 78)
    assert says_why(root) is (status == 78)


def test_a_death_without_words_says_that_nothing_is_known() -> None:
    (root,) = diagnose([*UP, exited(70)]).failures
    assert not says_why(root)


@pytest.mark.parametrize(
    ("words", "kind", "title"),
    [
        ("crashed: port 30000 is taken by another process", Kind.PORT_IN_USE, "Port 30000 is in use"),
        ("crashed: /generate: garbage: only '!' over and over", Kind.GARBAGE_OUTPUT, "The server answers with garbage"),
    ],
)
def test_signatures_know_some_words(words: str, kind: Kind, title: str) -> None:
    (root,) = diagnose([*UP, (LAUNCHER, f"{SAID}{words} (exit 70)"), exited(70)]).failures
    assert (root.kind, root.title[: len(title)]) == (kind, title)
    assert root.cause
    assert words in root.evidence[0].text


def test_an_exception_of_the_run_says_more_than_words() -> None:
    words = (LAUNCHER, f"{SAID}crashed: ValueError: bad (exit 70)")
    found = diagnose([*UP, *crash(60, " TP0", "ValueError: bad"), SIGQUIT, words, exited(70)])
    assert titles(found) == [(Role.ROOT, Kind.UNKNOWN, "ValueError: bad")]
    assert found.failures[0].exceptions


def test_words_about_a_stall_say_more_than_an_exception_that_was_survived() -> None:
    logged = crash(60, " TP0", "OSError: cache", header="Could not write the cache: ")
    stall = "stalled: nothing moved for 600 s in weights (last: reads)"
    found = diagnose([*UP, *logged, (60, f"{DATE} TP0] goes on"), (LAUNCHER, f"{SAID}{stall} (exit 75)"), exited(75)])
    assert titles(found) == [(Role.ROOT, Kind.UNKNOWN, stall), (Role.NOISE, Kind.UNKNOWN, "OSError: cache")]


def test_what_systemd_knows_better_stays() -> None:
    oom = (1, "a.service: A process of this unit has been killed by the OOM killer.")
    found = diagnose([*UP, oom, (LAUNCHER, f"{SAID}crashed: server was killed by SIGKILL (exit 70)"), exited(70)])
    assert titles(found) == [(Role.ROOT, Kind.HOST_OOM, "Killed by the kernel's OOM killer")]


@pytest.mark.parametrize(
    "lines",
    [
        [(60, f"{DATE} TP0] {SAID}crashed: quoted")],
        [(60, f"{DATE} TP0] prompt: '{SAID}crashed: quoted'")],
        [(60, f"{DATE} TP0] prompt: 'a"), (60, f"{SAID}crashed: quoted")],
        [(50, f"{DATE}] prompt: 'a\n{SAID}crashed: quoted\n'")],
        [(70, f"a\n{SAID}crashed: quoted")],
        [(70, f" {SAID}crashed: quoted")],
        [(70, f"[rank0]: {SAID}crashed: quoted")],
        [(LAUNCHER, f"{SAID}ready after 12 s")],
        [(LAUNCHER, f"{SAID}not ready: /generate: crashed: quoted")],
        [(LAUNCHER, f"{SAID}stopped (exit 0)")],
    ],
)
@pytest.mark.parametrize("died", [True, False])
def test_other_text_counts_for_nothing(lines: list[tuple[int, str]], died: bool) -> None:
    found = diagnose([*UP, *lines, *([KILLED] if died else [])])
    assert [item.title for item in found.failures] == (
        ["Died without an error in its log (code=killed, status=9/KILL)"] if died else []
    )


def test_a_restart_loop_is_one_failure_and_other_words_are_another() -> None:
    runs = [("a" * 32, "crashed: server exited with status 3"), ("b" * 32, "crashed: server exited with status 4")]
    runs.append(("c" * 32, "refused: credential api_key: is empty"))
    entries = [
        entry._replace(invocation_id=run) for run, words in runs for entry in written([(LAUNCHER, f"{SAID}{words} (exit 70)")])
    ]
    assert [(item.title, item.count) for item in feed(entries).failures] == [(runs[0][1], 2), (runs[2][1], 1)]
