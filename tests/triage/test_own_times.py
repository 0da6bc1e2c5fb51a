"""Times that programs write before their own lines."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ddtree_ops.triage.lines import LineAssembler
from ddtree_ops.triage.own_times import OwnTimes
from tests.triage.journals import plain

_NOW = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000


def _said(at: int | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("[2026-11-29 18:38:31 DP0 TP0] Decode batch", "2026-11-29 18:38:31.000"),
        ("[2026-11-29 18:38:31.250] x", "2026-11-29 18:38:31.250"),
        ("2026-11-29 18:38:31,123 - name - ERROR - x", "2026-11-29 18:38:31.123"),
        ("2026-11-29T18:38:31+02:00 x", "2026-11-29 16:38:31.000"),
        ("[11/29/2026-18:38:31] [TRT-LLM] [E] x", "2026-11-29 18:38:31.000"),
        ("0|sglang   | [2026-11-29 18:38:31] x", "2026-11-29 18:38:31.000"),
        ("(EngineCore pid=7) ERROR 02-28 18:38:31 [core.py:1] x", "2026-02-28 18:38:31.000"),
        ("INFO 11-29 18:38:31 core.py:1] x", "2025-11-29 18:38:31.000"),
        ("INFO 02-29 18:38:31 core.py:1] x", "2024-02-29 18:38:31.000"),
        ("[2026-13-29 18:38:31] no such month", None),
        ("a line that quotes [2026-11-29 18:38:31]", None),
    ],
)
def test_read(text: str, want: str | None) -> None:
    assert _said(OwnTimes(_NOW).of(text)) == want


def test_without_a_now_there_is_no_year() -> None:
    assert OwnTimes().of("INFO 11-29 18:38:31 core.py:1] x") is None


def test_a_line_without_a_time_has_the_one_before() -> None:
    assembler = LineAssembler()
    lines = [line for entry in plain("first\n[2026-11-29 18:38:31] x\n  rest\n") for line in assembler.feed(entry)]
    assert [_said(line.entry.realtime_us) for line in lines] == [None, *["2026-11-29 18:38:31.000"] * 2]


def test_the_logs_own_clock_is_kept() -> None:
    assembler = LineAssembler()
    entries = [entry._replace(realtime_us=_NOW) for entry in plain("[2020-11-29 18:38:31] x\n[2020-11-29 18:38:32] x\n")]
    assert {line.entry.realtime_us for entry in entries for line in assembler.feed(entry)} == {_NOW}
