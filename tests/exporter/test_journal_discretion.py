"""What of a failure may stand on the exporter's pages."""

from __future__ import annotations

import pytest

from ddtree_ops.exporter.journal.discretion import discreet, discreet_events
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.forms.read import read_log
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import UNREADABLE_INPUT, Diagnosis, Event, Failure

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


def diagnosed(log: str = LOG) -> Diagnosis:
    diagnoser = Diagnoser()
    for entry in read_log(iter([log.encode()]), 1_796_000_000_000_000):
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


# By what is known of them: a prefix that a signature knows, and anything behind it.
HOSTILE = (
    f"launch_server.py: error: unrecognized arguments: --api-kee {SAID}",
    f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. {SAID}",
    f"RuntimeError: The size of tensor a (8) must match the size of tensor b (33) at non-singleton dimension 0\n{SAID}",
    f"RuntimeError: Decode out of memory. Try to lower your batch size.\nReq(rid=1, input_text='{SAID}')",
    f"ModuleNotFoundError: No module named '{SAID}'",
)


@pytest.mark.parametrize("end", HOSTILE)
def test_behind_the_words_that_make_a_kind_known_anything_may_follow(end: str) -> None:
    found = diagnosed(LOG.replace(f"ValueError: no such thing as {SAID}", end))
    page = shown(tuple(map(discreet, found.failures)), discreet_events(found.events))
    assert found.failures
    assert "morphine" not in page


def test_what_the_story_says_stays() -> None:
    end = "RuntimeError: The size of tensor a (8) must match the size of tensor b (33) at non-singleton dimension 0"
    failure = discreet(diagnosed(LOG.replace(f"ValueError: no such thing as {SAID}", end)).failures[0])
    assert failure.exceptions[-1].message == end.partition(": ")[2]


def test_a_line_that_could_not_be_read_is_not_quoted() -> None:
    assert SAID not in shown((), discreet_events((Event(None, UNREADABLE_INPUT, SAID),)))
