"""The readiness state machine: which news ends a wait, and which must not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddtree_ops.units.readiness import (
    LINGER_SECONDS,
    QUIET_SECONDS,
    SETTLE_SECONDS,
    STALL_MARGIN_SECONDS,
    STOPPED_SECONDS,
    Died,
    Readiness,
    Ready,
    Stalled,
    TimedOut,
)
from ddtree_ops.units.systemctl import Active, UnitState, parse_show

LOADING = parse_show(
    "LoadState=loaded\nActiveState=activating\nSubState=start\nInvocationID=new\nStatusText=weights 41% eta 20s\n"
)
SERVING = replace(LOADING, active=Active.ACTIVE, sub="running", status_text="ready")
CRASHED = replace(LOADING, active=Active.FAILED, sub="failed", result="exit-code", exit_status=70, status_text="")
FATAL = "[2026-11-29 18:37:34 TP0] Scheduler hit an exception: Traceback (most recent call last):"


def readiness(old: str | None = None) -> Readiness:
    return Readiness(started=100.0, budget=600.0, stall_after=60.0, old_invocation=old)


def test_loading_shows_phase_percent_and_eta() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    waiting = machine.waiting(107.0)
    assert (waiting.segment, waiting.percent, waiting.eta, waiting.elapsed) == ("weights", 41, 20, 7.0)
    assert machine.verdict(107.0) is None


@pytest.mark.parametrize("text", ["", "ready to roll \x1b[31m", "weights lots%", "weights 41% eta"])
def test_a_status_text_of_another_form_is_shown_as_it_is(text: str) -> None:
    machine = readiness()
    machine.unit(replace(LOADING, status_text=text), 101.0)
    assert machine.waiting(101.0).percent is None


def test_systemd_says_ready() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.unit(SERVING, 140.0)
    assert machine.verdict(140.0) == Ready(40.0, "systemd")


def test_an_answer_before_the_port_is_ours_is_somebody_elses() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.answered(106.0)
    assert machine.verdict(106.0) is None


def test_http_says_ready_first_and_systemd_follows() -> None:
    machine = readiness()
    machine.unit(replace(LOADING, status_text="warmup eta 2s"), 105.0)
    machine.answered(139.0)
    assert machine.verdict(139.0) is None
    machine.unit(SERVING, 139.4)
    assert machine.verdict(139.4) == Ready(39.0, "http")


def test_http_alone_is_enough_in_the_end() -> None:
    machine = readiness()
    machine.unit(replace(LOADING, status_text="warmup eta 2s"), 105.0)
    machine.answered(139.0)
    assert machine.verdict(139.0 + SETTLE_SECONDS) == Ready(39.0, "http")


def test_what_the_replaced_run_says_counts_for_nothing() -> None:
    machine = readiness(old="old")
    machine.unit(replace(SERVING, invocation="old"), 101.0)
    machine.entry(7, FATAL, "old", 101.0)
    assert machine.verdict(110.0) is None
    assert machine.invocation is None


def test_a_crash_in_the_journal_is_told_without_systemd_and_after_the_other_ranks_had_their_say() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.entry(7, FATAL, "new", 120.0)
    machine.entry(8, "Traceback of the second rank", "new", 120.1)
    assert machine.verdict(120.0 + QUIET_SECONDS + 0.05) is None
    verdict = machine.verdict(120.11 + QUIET_SECONDS)
    assert isinstance(verdict, Died)
    assert "Scheduler hit an exception" in verdict.reason


def test_a_journal_that_never_falls_silent_does_not_hold_a_crash_back() -> None:
    machine = readiness()
    machine.entry(7, FATAL, "new", 120.0)
    for tenth in range(1, 10):
        machine.entry(8, "still talking", "new", 120.0 + tenth / 10)
        assert machine.verdict(120.0 + tenth / 10) is None
    assert isinstance(machine.verdict(120.0 + LINGER_SECONDS), Died)


def test_a_traceback_alone_does_not_kill() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.entry(7, "Traceback (most recent call last):", "new", 120.0)
    assert machine.verdict(125.0) is None


@pytest.mark.parametrize("pid", [7, 1, None])
@pytest.mark.parametrize(
    "message",
    [
        "[2026-11-29 18:37:34] Receive: obj=GenerateReqInput(text='Received sigquit from a child process')",
        "[2026-11-29 18:37:34] Receive: obj=GenerateReqInput(text='\\r[2026-11-29 18:37:34] SIGQUIT received. ')",
        "[2026-11-29 18:37:34] Receive: obj=GenerateReqInput(text='u.service: Main process exited, code=killed')",
    ],
)
def test_a_prompt_does_not_kill(message: str, pid: int | None) -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.entry(pid, message, "new", 120.0)
    assert machine.verdict(125.0) is None


def test_only_the_service_manager_speaks_for_the_service_manager() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    said = "ddtree-server@30000.service: Main process exited, code=exited, status=70/SOFTWARE"
    machine.entry(7, said, "new", 120.0)
    machine.entry(None, said, "new", 120.0)
    assert machine.verdict(125.0) is None
    machine.entry(1, said, "new", 126.0)
    assert machine.verdict(127.0) == Died(27.0, said)


def test_the_exception_is_the_reason_where_it_is_seen() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.entry(7, FATAL, "new", 120.0)
    machine.entry(8, "ValueError: of another rank", "new", 120.1)
    machine.entry(7, "RuntimeError: The size of tensor a (8) must match", "new", 120.2)
    machine.entry(1, "u.service: Failed with result 'exit-code'.", "new", 120.3)
    assert machine.verdict(121.0) == Died(21.0, "RuntimeError: The size of tensor a (8) must match")


def test_ready_never_wins_over_a_crash_that_was_seen() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.entry(7, FATAL, "new", 120.0)
    machine.answered(120.1)
    machine.unit(SERVING, 120.2)
    assert isinstance(machine.verdict(122.0), Died)


@pytest.mark.parametrize(
    "state",
    [
        CRASHED,
        replace(LOADING, sub="auto-restart"),
        replace(LOADING, invocation="a third one"),
        replace(LOADING, active=Active.INACTIVE, sub="dead"),
    ],
    ids=["failed", "waits for its restart", "was restarted", "was stopped"],
)
def test_systemd_alone_can_tell_of_a_death(state: UnitState) -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.unit(state, 110.0)
    assert isinstance(machine.verdict(110.0 + LINGER_SECONDS), Died)


@pytest.mark.parametrize("invocation", ["", "old"], ids=["never began", "the replaced run's"])
def test_a_unit_that_was_stopped_before_its_new_run_was_seen(invocation: str) -> None:
    machine = readiness(old="old")
    stopped = replace(LOADING, active=Active.INACTIVE, sub="dead", invocation=invocation)
    machine.unit(stopped, 101.0)
    machine.unit(stopped, 101.0 + STOPPED_SECONDS - 0.1)
    assert machine.verdict(101.0 + STOPPED_SECONDS - 0.1) is None, "a restart stops first"
    machine.unit(stopped, 101.0 + STOPPED_SECONDS)
    verdict = machine.verdict(102.0 + STOPPED_SECONDS)
    assert isinstance(verdict, Died)
    assert verdict.reason == "the unit was stopped"


def test_a_moment_without_a_process_is_part_of_a_restart() -> None:
    machine = readiness(old="old")
    machine.unit(replace(LOADING, active=Active.INACTIVE, sub="dead", invocation="old"), 101.0)
    machine.unit(LOADING, 102.0)
    machine.unit(LOADING, 102.0 + STOPPED_SECONDS)
    assert machine.verdict(103.0 + STOPPED_SECONDS) is None


def test_the_launchers_own_verdict_of_a_stall() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.unit(replace(CRASHED, exit_status=75, status_text="stalled: nothing moved for 60 s"), 200.0)
    assert machine.verdict(200.0) == Stalled(100.0, "stalled: nothing moved for 60 s")


def test_a_stall_that_the_journal_tells_first_is_no_death() -> None:
    """systemd's line of the launcher's exit may come before the next look at the unit."""
    machine = readiness()
    machine.unit(LOADING, 150.0)
    machine.entry(77, "ddtree launcher: stalled: nothing moved for 60 s in weights (last: log) (exit 75)", "new", 200.0)
    assert machine.verdict(200.0) is None  # words alone: anything that logs could say so
    machine.entry(1, "ddtree-server@30000.service: Main process exited, code=exited, status=75/TEMPFAIL", "new", 200.1)
    verdict = machine.verdict(200.1)
    assert isinstance(verdict, Stalled)
    assert verdict.reason == "stalled: nothing moved for 60 s in weights (last: log) (exit 75)"


def test_silence_of_everything_is_a_stall_and_a_moving_status_is_not() -> None:
    machine = readiness()
    machine.unit(LOADING, 105.0)
    machine.unit(replace(LOADING, status_text="weights 42% eta 19s"), 150.0)
    assert machine.verdict(105.0 + 60.0 + STALL_MARGIN_SECONDS + 1) is None
    assert isinstance(machine.verdict(150.0 + 60.0 + STALL_MARGIN_SECONDS + 1), Stalled)


def test_a_status_that_stays_the_same_is_no_stall_while_systemd_lets_the_start_go_on() -> None:
    """A silent graph capture: the launcher sees the compiler work, but has nothing new to say."""
    machine = readiness()
    same = replace(LOADING, status_text="graph_capture 0% eta 1s")
    for second in range(105, 400, 5):
        machine.unit(same, float(second))
        assert machine.verdict(second + 1.0) is None
    assert isinstance(machine.verdict(395.0 + 60.0 + STALL_MARGIN_SECONDS + 1), Stalled)  # no look came back: the host hangs


def test_the_budget_ends_a_load_that_moves_for_ever() -> None:
    machine = readiness()
    for second in range(101, 702):
        machine.unit(replace(LOADING, status_text=f"weights {second % 100}%"), float(second))
    assert isinstance(machine.verdict(701.0), TimedOut)
