"""The forms of a failure report, above all with hostile text in the log."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.failure import FailureReport, schema
from ddtree_ops.report.safe_text import code_span, fenced, markdown, rfc3339
from tests.triage.journals import plain, recorded

HOSTILE = (
    "ValueError: \x1b]0;title\x07\x1b[2Jcleared \u202egnp.exe\u2066 \x9b31m \x00 ``` </script><img src=x> [a](javascript:b)"
    " @everyone \ud800 <!-- # x"
)
STORY = """\
graph_token_count_mismatch on TP0, TP1 during warmup
CUDA graph captured for 8 tokens, replayed with 33
"""


def hostile() -> FailureReport:
    lines = [
        "[2026-04-02 03:04:05 TP1] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/opt/`x`/\x1b[31mred.py", line 1, in <b>',
        "    code```more\x1b[2J",
        HOSTILE,
        "```",
        "# second line",
    ]
    return triage_entries(plain("\n".join(lines)), host="h\x1b[1m", unit="u`\n# x")


@pytest.mark.parametrize("colour", [False, True])
def test_terminal_gets_no_foreign_control_sequence(colour: bool) -> None:
    text = hostile().to_terminal(colour=colour, width=80)
    assert ("\x1b" in text) is colour
    bare = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert "cleared" in bare
    assert all(char == "\n" or char.isprintable() for char in bare)
    allowed = {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[1;32m"}
    assert set(re.findall(r"\x1b\[[\d;]*m", text)) <= allowed


def test_json_is_valid_ascii_without_control_characters() -> None:
    text = hostile().to_json()
    assert text.isascii()
    data = json.loads(text)
    jsonschema.validate(data, schema())
    strings = re.findall(r"\\u00[01][0-9a-f]|\\u202e|\\ud800", text)
    assert strings == []


def test_markdown_keeps_hostile_text_inside_its_place() -> None:
    text = hostile().to_markdown()
    outside, fence, _ = text.partition("\n````text\n")
    assert fence, "the fence is longer than any run of backticks inside"
    assert text.rstrip().endswith("\n````")
    assert "<img" not in outside.replace("\\<", "")
    assert "](javascript" not in outside
    assert [line for line in text.partition("````text")[0].splitlines() if line.startswith("#")][1:] == [
        line for line in outside.splitlines() if line.startswith("## ")
    ]


def test_story_reads_in_ten_seconds() -> None:
    text = triage_entries(recorded("tp2_ddtree_shape"), host="ct200").to_terminal(colour=False, width=110)
    assert STORY in text
    assert len(text.splitlines()) < 35
    assert max(map(len, text.splitlines())) <= 110
    for label in ("Cause  ", "Numbers", "Fix  ", "Seen  "):
        assert f"\n{label}" in text
    assert "cuda_graph_buffer_registry.py:39 in _foreach_copy" in text


def test_root_is_last_on_the_terminal_and_first_in_json() -> None:
    entries = [
        entry._replace(message=entry.message.replace("The size of tensor", "What of")) if index >= 139 else entry
        for index, entry in enumerate(recorded("tp2_ddtree_shape"))
    ]
    changed = [
        entry._replace(message=entry.message.replace("in fill_from", "in other")) if index >= 139 else entry
        for index, entry in enumerate(entries)
    ]
    report = triage_entries(changed)
    assert [item["role"] for item in report.to_data()["failures"]] == ["root", "consequence"]
    text = report.to_terminal(colour=False)
    assert text.index("consequence: unknown") < text.index("graph_token_count_mismatch")


GROUP = """\
[2026-04-02 03:04:05 TP1] Scheduler hit an exception:   + Exception Group Traceback (most recent call last):
  |   File "/opt/s/sglang/a.py", line 1, in one
  |   File "/opt/s/sglang/a.py", line 2, in two
  |   File "/opt/s/sglang/a.py", line 3, in three
  |   File "/opt/s/sglang/a.py", line 4, in four
  |   File "/opt/s/sglang/a.py", line 5, in five
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/opt/s/sglang/b.py", line 6, in six
    | ValueError: member one
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/opt/s/sglang/c.py", line 7, in seven
    | KeyError: 'member two'
    +------------------------------------
"""
ENDED = "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)"


def test_a_group_is_shown_as_what_ended_the_process_and_its_members_as_what_came_first() -> None:
    lines = triage_entries(plain(GROUP)).to_terminal(colour=False).splitlines()
    first = [line.strip() for line in lines if line.startswith("  first ")]
    assert first == ["first ValueError: member one", "first KeyError: 'member two'"]
    frames = [line.rpartition(" ")[2] for line in lines if ".py:" in line]
    assert frames == ["two", "three", "four", "five"]
    assert lines[lines.index("  /opt/s/sglang/a.py:5 in five") + 1] == f"  {ENDED}"


def test_a_group_in_markdown_has_all_frames_of_what_ended_the_process() -> None:
    text = triage_entries(plain(GROUP)).to_markdown().partition("```text\n")[2]
    functions = [line.rpartition(" ")[2] for line in text.splitlines() if ".py:" in line]
    assert functions == ["one", "two", "three", "four", "five", "six", "seven"]


def test_no_failure_is_one_line() -> None:
    report = triage_entries(recorded("dflash_ok"), host="b300")
    assert report.to_terminal(colour=False) == "No failure found in 78 journal entries of ddtree-server.service on b300\n"
    assert report.root is None


@pytest.mark.parametrize("width", [1, 40, 79, 200])
def test_any_width(width: int) -> None:
    for name in ("draft_mismatch", "tp2_rank1_raise"):
        lines = triage_entries(recorded(name)).to_terminal(colour=False, width=width).splitlines()
        assert lines


def test_times() -> None:
    assert rfc3339(1_795_977_454_677_863) == "2026-11-29T18:37:34.677863Z"
    assert rfc3339(None) is None
    assert rfc3339(10**30) is None


def test_markdown_pieces() -> None:
    assert code_span("a`b") == "``a`b``"
    assert code_span("`") == "`` ` ``"
    assert fenced("a\n```").startswith("````text\n")
    assert markdown("*a* <b>") == r"\*a\* \<b\>"
