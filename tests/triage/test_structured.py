"""Log records in JSON, one a line: the formatters' own shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.triage.structured import read_structured

_TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/opt/sglang/srt/managers/scheduler.py", line 2900, in run_scheduler_process\n    scheduler = Scheduler(\n'
    "RuntimeError: CUDA error: no kernel image is available for execution on the device"
)
_WORDS = "Scheduler hit an exception"
_RECORDS: tuple[dict[str, Any], ...] = (
    {"asctime": "2026-09-02 11:20:31,000", "levelname": "ERROR", "message": _WORDS, "exc_info": _TRACEBACK},
    {"event": _WORDS, "level": "error", "timestamp": "2026-09-02T11:20:31Z", "exception": _TRACEBACK},
    {"@timestamp": "2026-09-02T13:20:31+02:00", "log.level": "error", "message": _WORDS, "error": {"stack_trace": _TRACEBACK}},
    {"text": "", "record": {"message": _WORDS, "level": {"name": "ERROR"}, "time": {"timestamp": 1788348031.0}}}
    | {"text": f"11:20:31 | ERROR | {_WORDS}\n{_TRACEBACK}"},
    {"severity": "ERROR", "time": 1788348031000, "message": f"{_WORDS}: {_TRACEBACK}"},
)


@pytest.mark.parametrize("record", _RECORDS)
def test_a_formatters_record_is_read(record: dict[str, Any]) -> None:
    log = f"{json.dumps({'level': 'INFO', 'message': 'hello', 'time': '2026-09-02T11:20:30Z'})}\n{json.dumps(record)}\n"
    for text in (log, f"a banner\n{log}"):
        data = json.loads(triage_bytes([text.encode()]).to_json())
        failure = data["failures"][0]
        assert (data["verdict"], failure["kind"], failure["role"]) == ("failure", "no_kernel_image", "root")
        assert [(item["type"], len(item["frames"]), item["complete"]) for item in failure["exceptions"]] == [
            ("RuntimeError", 1, True)
        ]
        assert failure["first_seen"].startswith("2026-09-02T11:20:31")


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '{"message": "words without a level"}',
        '{"level": "INFO"}',
        '{"message": 7, "level": "INFO"}',
        '{"message": "x", "level": "INFO"',
        '{"level": "INFO", "MESSAGE": "of journald", "message": "x"}',
        '{"message": "\\ud800", "level": "INFO"}',
        "{" * 100_000 + "}",
    ],
)
def test_other_objects_are_text(text: str) -> None:
    assert read_structured(text) is None
