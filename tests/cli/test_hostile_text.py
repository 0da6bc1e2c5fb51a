"""What hosts, logs and servers say reaches the terminal without line breaks or characters that nobody sees."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import click
import pytest

from ddtree_ops.cli import doctor, errors, logs, show, status, view, wait
from ddtree_ops.cli.checkup import Check
from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.fleet.state import LockHolder
from ddtree_ops.flows.progress import StepEnded, TaskNews
from ddtree_ops.flows.wait import Waited
from ddtree_ops.ports import TaskResult, TaskState
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Step, StepState
from ddtree_ops.units.readiness import Died
from tests.triage.journals import plain

HOSTILE = "one\nfix: run\u200b this\r\x1b[2J\x1b]0;t\x07 \u202etwo\ufeff"
SAFE = "one fix: run this two"
STEP = Step("stage", StepState.FAILED, 1.0, HOSTILE)
REPORT = DeploymentReport("h", Outcome.FAILED, 1, None, None, None, 1.0, (STEP,), HOSTILE, HOSTILE)
UNIT = {"active": "failed", "sub": "failed", "status_text": HOSTILE, "restarts": 0}
STATUS = {
    "host": "h",
    "serving": False,
    "release": None,
    "current": None,
    "last_good": None,
    "unit": UNIT,
    "health": 0,
    "gpus": [],
    "boots": [],
    "gpu_problem": None,
    "lock": {"user": "u", "controller": "c", "command": HOSTILE, "since": "2026-01-01T00:00:00Z"},
    "dead_man": {"release": HOSTILE, "back_to": "r1", "seconds_left": 3.0, "timer_active": True, "damaged": False},
    "drift": [{"what": HOSTILE, "before": "changed", "after": None}],
}
TASK = TaskResult("h", "role", HOSTILE, TaskState.FAILED, message="no")


def _deployment() -> None:
    show.show_deployments([REPORT], "text")


SHOWN: dict[str, tuple[Callable[[], object], int]] = {
    "error": (lambda: errors.show(DdtreeOpsError(HOSTILE, hint=HOSTILE)), 2),
    "deployment": (_deployment, 3),
    "doctor": (lambda: doctor._print(Check("h", "python", False, HOSTILE, HOSTILE)), 2),
    "unreadable host": (lambda: click.echo(show.error_line("h", DdtreeOpsError(HOSTILE))), 1),
    "status": (lambda: status._print(STATUS), 6),
    "damaged dead-man": (lambda: status._print({**STATUS, "dead_man": {"damaged": True}}), 6),
    "wait": (lambda: wait.show_waited("h", Waited(Died(1.0, HOSTILE), None), "text"), 1),
    "step": (lambda: view.PlainView()(StepEnded("h", STEP)), 1),
    "task": (lambda: view.PlainView()(TaskNews("h", TASK)), 1),
}


@pytest.mark.parametrize("name", SHOWN)
def test_hostile_text_stays_in_its_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    call, lines = SHOWN[name]
    call()
    done = capsys.readouterr()
    shown = (done.out + done.err).splitlines()
    assert len(shown) == lines
    assert all(line.isprintable() for line in shown)
    assert any(SAFE in line for line in shown)


def test_a_lock_file_that_says_nothing_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    status._print({**STATUS, "lock": dataclasses.asdict(LockHolder())})
    assert "  locked    by a process of which the lock file says nothing" in capsys.readouterr().out.splitlines()


def test_evidence_keeps_its_line_breaks_inside_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    errors.show(DdtreeOpsError("m", evidence=("    indented", HOSTILE)))
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == ["      indented", "  one", "  fix: run this two"]


def test_a_log_line_keeps_its_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    (entry,) = plain("    return\u200b  x\u2028error: y")[:1]
    assert logs._text(entry) == "- ?[?]:     return  x"


def test_a_steps_columns_stay(capsys: pytest.CaptureFixture[str]) -> None:
    view.PlainView()(StepEnded("h", Step("look", StepState.OK, 2.0, "a  b")))
    assert capsys.readouterr().err == "h  look          2.0 s  a b\n"
