"""What of a failure may stand on the exporter's pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddtree_ops.exporter.journal.discretion import discreet, discreet_events
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.forms.read import read_log
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import UNREADABLE_INPUT, Diagnosis, Event, Failure, Role

SAID = "the patient in room 12 asks for morphine"
LOG = f"""[2026-11-30 09:00:00 TP0] about to work on: {SAID}
[2026-11-30 09:00:01 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 3000, in run_scheduler_process
    scheduler.event_loop_overlap()
  File "/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 1200, in process_input_requests
    output = self._request_dispatcher(recv_req)
ValueError: no such thing as {SAID}

[2026-11-30 09:00:01] Received sigquit from a child process. It usually means the child failed.
"""


def diagnosed() -> Diagnosis:
    diagnoser = Diagnoser()
    for entry in read_log(iter([LOG.encode()]), 1_796_000_000_000_000):
        diagnoser.feed(entry)
    return diagnoser.finish()


def shown(failures: tuple[Failure, ...], events: tuple[Event, ...]) -> str:
    report = FailureReport("ct200", None, None, None, None, 9, diagnosed().verdict, failures, events)
    return report.to_html() + report.to_json()


def test_an_unknown_exception_may_quote_a_user() -> None:
    found = diagnosed()
    assert found.failures[0].kind is Kind.UNKNOWN
    assert SAID in shown(found.failures, found.events)
    page = shown(tuple(map(discreet, found.failures)), discreet_events(found.events))
    assert SAID not in page
    assert "morphine" not in page
    assert "ValueError" in page
    assert "process_input_requests" in page


@pytest.mark.parametrize("role", [Role.ROOT, Role.REQUEST])
def test_a_known_failure_keeps_its_words_unless_it_is_one_requests(role: Role) -> None:
    failure = replace(diagnosed().failures[0], kind=Kind.TENSOR_SHAPE_BUG, role=role)
    assert (SAID in shown((discreet(failure),), ())) is (role is Role.ROOT)


def test_a_line_that_could_not_be_read_is_not_quoted() -> None:
    assert SAID not in shown((), discreet_events((Event(None, UNREADABLE_INPUT, SAID),)))
