"""The terminal text: what it says, in which order, and that it fits."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ddtree_ops.report.cells import cells, fit, wrap
from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.triage.block import ParsedException, Relation
from tests.report.reports import full, hostile, of
from tests.triage.journals import NAMES, plain, recorded

STYLES = {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m"}
STORY = """\
graph_token_count_mismatch on TP0, TP1 during warmup
CUDA graph captured for 8 tokens, replayed with 33
"""
GROUP = """\
[2026-04-02 03:04:05 TP1] Scheduler hit an exception:   + Exception Group Traceback (most recent call last):
  |   File "/opt/s/sglang/a.py", line 1, in one
  |   File "/opt/s/sglang/a.py", line 2, in two
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


def text_of(name: str, width: int = 100) -> str:
    return of(name).to_terminal(colour=False, width=width)


@pytest.mark.parametrize("colour", [False, True])
def test_terminal_gets_no_foreign_control_sequence(colour: bool) -> None:
    text = hostile().to_terminal(colour=colour, width=80)
    assert ("\x1b" in text) is colour
    assert set(re.findall(r"\x1b\[[\d;]*m", text)) <= STYLES
    bare = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert "cleared" in bare
    assert all(char == "\n" or char.isprintable() for char in bare)


def test_colour_changes_nothing_but_colour() -> None:
    for report in (full(), of("tp2_ddtree_shape")):
        coloured = report.to_terminal(colour=True, width=90)
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == report.to_terminal(colour=False, width=90)
        assert coloured.count("\x1b[0m") == len(re.findall(r"\x1b\[[1-9][\d;]*m", coloured))


def test_story_reads_in_ten_seconds() -> None:
    text = text_of("tp2_ddtree_shape", 110)
    assert STORY in text
    assert len(text.splitlines()) < 45
    labels = [line.split("  ")[0] for line in text.splitlines() if re.match(r"[A-Z]\w+ {2}", line)]
    assert labels == ["Phases", "Then", "Cause", "Numbers", "Fix", "Seen"]
    assert "cuda_graph_buffer_registry.py:39 in _foreach_copy" in text


def test_numbers_stand_under_their_value() -> None:
    lines = text_of("tp2_ddtree_shape").splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("Numbers"))
    assert [line[12:17] for line in lines[at : at + 3]] == [" 8: s", "    b", "33: i"]


def test_the_chain_is_told_in_words() -> None:
    lines = [line.strip() for line in text_of("tp2_rank1_raise").splitlines()]
    told = [lines.index(line) for line in ("KeyError: 'missing-draft-state'", "which directly caused:")]
    last = next(index for index, line in enumerate(lines) if line == "RuntimeError: draft state lost between steps")
    assert told == sorted(told)
    assert told[-1] < last
    assert lines[last - 1] == 'raise RuntimeError("draft state lost between steps") from e'


def test_an_unknown_failure_has_an_excerpt_with_the_root_line_marked_and_says_what_to_keep() -> None:
    text = text_of("tp2_rank1_raise")
    assert "\n  > RuntimeError: draft state lost between steps\n" in text
    assert "Keep the report" in text
    assert "nothing is guessed" in text
    assert "Keep the report" not in text_of("tp2_ddtree_shape")


def test_root_is_last_on_the_terminal_and_first_in_json() -> None:
    text = full().to_terminal(colour=False)
    assert [item["role"] for item in full().to_data()["failures"]] == ["root", "consequence", "noise"]
    assert (
        text.index("consequence: peer_rank_failed") < text.index("noise: shutdown_noise") < text.index("\nscheduler_hang on TP0")
    )
    assert text.splitlines()[-1].endswith("fingerprint 0123456789abcdef")


def test_a_group_and_its_members() -> None:
    lines = triage_entries(plain(GROUP)).to_terminal(colour=False).splitlines()
    told = [line.strip() for line in lines if "in the group" in line or re.match(r" +\w+(Error|Group): ", line)]
    assert told[:5] == [
        "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)",
        "in the group:",
        "ValueError: member one",
        "in the group:",
        "KeyError: 'member two'",
    ]
    frames = [line for line in lines if ".py:" in line]
    assert [line.rpartition(" ")[2] for line in frames] == ["one", "two", "six", "seven"]
    assert [len(line) - len(line.lstrip()) for line in frames] == [2, 2, 4, 4]


def test_threads_that_stand_at_the_same_place_are_one_and_the_current_one_is_first() -> None:
    lines = full().to_terminal(colour=False).splitlines()
    threads = [line.strip() for line in lines if line.startswith("  thread ") or " threads: " in line]
    assert threads == ["thread MainThread (0x3), the current one", "2 threads: 0x1, 0x2"]


def test_parts_of_a_full_report() -> None:
    text = full().to_terminal(colour=False, width=120)
    for words in (
        "> 3110 | result = forward(",
        "[c++]",
        "(the log lost part of this)",
        "a note",
        "GPU 3, 0000:a1:00.0, look here",
    ):
        assert words in text
    assert text.splitlines()[1].startswith("Note        /opt/ddtree/current")


def test_a_chain_without_end_is_cut_in_the_middle() -> None:
    report = of("tp2_rank1_raise")
    links = tuple(ParsedException("E", str(index), Relation.CONTEXT if index else None, ()) for index in range(500))
    text = replace(report, failures=(replace(report.failures[0], exceptions=links),)).to_terminal(colour=False)
    assert "488 more exceptions" in text
    assert text.count("while that was handled:") == 11


def test_no_failure_is_one_line() -> None:
    text = triage_entries(recorded("dflash_ok"), host="b300").to_terminal(colour=False)
    assert text == "No failure found in 78 journal entries of ddtree-server.service on b300\n"


@pytest.mark.parametrize("width", [1, 40, 79, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    reports: list[FailureReport] = [full(), hostile(), *map(of, NAMES)]
    wide = replace(full(), failures=(replace(full().failures[0], title="图" * 300, cause="é" * 500 + " 漢字" * 100),))
    for report in (*reports, wide):
        for line in report.to_terminal(colour=False, width=width).splitlines()[1:]:
            assert cells(line) <= max(width, 40), line


def test_cells() -> None:
    assert [cells(text) for text in ("abc", "漢字", "e\u0301", "…")] == [3, 4, 1, 1]
    assert fit("漢字漢字", 5) == "漢字…"
    assert wrap("漢字漢字 ab", 4) == ["漢字", "漢字", "ab"]
    assert wrap("", 10) == [""]
    assert wrap("a bb", 2) == ["a", "bb"]
