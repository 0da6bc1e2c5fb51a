"""Messages to lines."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.entry import LineBreak
from ddtree_ops.triage.lines import LineAssembler, clean, read_prefix, split_message
from ddtree_ops.triage.prefixes import is_record
from tests.triage.journals import recorded, split, written

BAR = "Loading shards:   0% Completed | 0/1 [00:00<?, ?it/s]"


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        ("plain", [("plain", False)]),
        ("", [("", False)]),
        ("a\ttab", [("a\ttab", False)]),
        (f"\r{BAR}", [(BAR, True)]),
        (f"\r{BAR}\r{BAR.replace('0/1', '1/1')}", [(BAR.replace("0/1", "1/1"), True)]),
        (f"\r{BAR}Traceback (most recent call last):", [(BAR, True), ("Traceback (most recent call last):", False)]),
        (f"\r{BAR}\rwords\r{BAR}", [(BAR, True), ("words", False), (BAR, True)]),
        ("windows\r", [("windows", False)]),
        ("\r 12it [00:01, 9.1it/s]", [(" 12it [00:01, 9.1it/s]", True)]),
        ("two\nlines", [("two", False), ("lines", False)]),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07x\x00\u202ey", [("red xy", False)]),
    ],
)
def test_split(message: str, lines: list[tuple[str, bool]]) -> None:
    assert split_message(message) == lines


def test_a_records_own_text_is_never_cut() -> None:
    quoted = f"[2026-11-29 18:31:26] prompt: \r{BAR}[2026-11-29 18:31:26] Scheduler hit an exception:"
    assert len(split_message(quoted)) == 1


def test_recorded_header_behind_a_bar_is_a_line_of_its_own() -> None:
    entry = recorded("draft_mismatch")[32]
    assert [text for text, progress in split_message(entry.message) if not progress] == [
        "[2026-11-29 18:31:26] Scheduler hit an exception: Traceback (most recent call last):"
    ]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("[2026-11-29 18:36:24 TP0] x", (True, "TP0", "x")),
        ("[2026-11-29 18:36:24 DP0 TP2] x", (True, "DP0 TP2", "x")),
        ("[2026-11-29 18:36:24] x", (True, None, "x")),
        ("[rank3]: Traceback", (False, "rank3", "Traceback")),
        ("[rank3]:[W1129 x", (False, "rank3", "[W1129 x")),
        ("  [Previous line", (False, None, "  [Previous line")),
        ("[1, 2]", (False, None, "[1, 2]")),
        ("[04-02 03:04:08] Rank 0 is dead", (True, None, "Rank 0 is dead")),
        ("rank3: Traceback", (False, "rank3", "Traceback")),
        ("ranking: x", (False, None, "ranking: x")),
        ("[1,3]<stderr>: [rank2]:   x", (False, "rank2", "  x")),
        ("[1,3]<stderr>:[2026-11-29 18:36:24 TP3] x", (True, "TP3", "x")),
        ("[default5]:x", (False, "rank5", "x")),
        ("ERROR 04-02 03:04:05 engine.py:101]   x", (False, None, "  x")),
        ("ERROR 04-02 03:04:05 [v1/core.py:101]", (False, None, "")),
        ("ERROR 04-02 x", (False, None, "ERROR 04-02 x")),
        ("2026-04-02 03:04:05 | ERROR | stderr |   x", (False, None, "  x")),
        ("2026-04-02 03:04:05.123 | ERROR    | a.b:main:12 - x", (False, None, "x")),
        ("2026-04-02 03:04:05,123 - a.b - ERROR - x: y", (False, None, "x: y")),
        ("2026-04-02 03:04:05,123 ERROR x: y", (False, None, "x: y")),
        ("2026-04-02 is a date", (False, None, "2026-04-02 is a date")),
        ("[04/02/2026-03:04:05] [TRT-LLM] [RANK 3] [E] x", (False, "rank3", "x")),
        ("[ERROR    | TRT-LLM            ]: [TRT-LLM] [E] x", (False, None, "x")),
        ("0|sglang   | [2026-11-29 18:36:24 TP1] x", (True, "TP1", "x")),
        ("12|sglang |", (False, None, "")),
        ("[2026-11-29 18:36:24] a:16:b [0] x", (True, None, "a:16:b [0] x")),
    ],
)
def test_prefix(text: str, want: tuple[bool, str | None, str]) -> None:
    found = read_prefix(text)
    assert (found.dated, found.rank, found.rest) == want
    assert found.stamp + found.rest == text


def test_nccls_own_date_begins_no_record() -> None:
    text = "gpu-7.lan:16:235 [0] misc/shmutils.cc:88 NCCL WARN Error"
    for before in ("", "[rank3]: ", "(Worker_TP0 pid=9) "):
        assert read_prefix(f"{before}[2026-11-29 18:36:24] {text}")[:3] == (False, read_prefix(before)[1], text)
    assert not is_record(f"[2026-11-29 18:36:24] {text}")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("(EngineCore_DP0 pid=2000) ERROR 04-02 03:04:05 [core.py:1101]   x", ("DP0", 2000, None, "  x")),
        ("(Worker_DP1_TP3_EP3 pid=7) x", ("DP1 TP3 EP3", 7, None, "x")),
        ("(VllmWorker rank=3 pid=7) x", ("rank3", 7, None, "x")),
        ("(RayWorkerWrapper pid=7, ip=10.0.0.1) x", (None, 7, "10.0.0.1", "x")),
        ("(RayWorkerWrapper pid=7) x [repeated 7x across cluster]", (None, 7, None, "x")),
        ("(RayWorkerWrapper pid=7) [repeated 7x across cluster] x", (None, 7, None, "x")),
        ("(pid=7) x", (None, 7, None, "x")),
        ("(f pid=7x) x", (None, None, None, "(f pid=7x) x")),
        ("(Worker_TP1 pid=8) (Worker_TP0 pid=7) x", ("TP0", 7, None, "x")),
    ],
)
def test_prefix_that_names_the_process(text: str, want: tuple[str | None, int | None, str | None, str]) -> None:
    found = read_prefix(text)
    assert (found.rank, found.pid, found.host, found.rest) == want
    assert text.startswith(found.torn + found.stamp)


def test_what_journald_split_is_joined_for_its_process_only() -> None:
    first, other, rest = written([(7, "one "), (8, "other"), (7, "line")])
    assembler = LineAssembler()
    assert list(assembler.feed(split(first, LineBreak.PID_CHANGE))) == []
    assert [line.text for line in assembler.feed(other)] == ["other"]
    assert [line.text for line in assembler.feed(rest)] == ["one line"]


@pytest.mark.parametrize("why", [LineBreak.LINE_MAX, LineBreak.PID_CHANGE])
def test_a_held_part_is_not_lost(why: LineBreak) -> None:
    (first,) = written([(7, "part")])
    assembler = LineAssembler()
    assert list(assembler.feed(split(first, why))) == []
    assert [line.text for line in assembler.flush()] == ["part"]
    assert [line.text for line in assembler.feed(split(first, LineBreak.EOF))] == ["part"]


def test_clean_ends_no_terminal_sequence_open() -> None:
    assert clean("a\x1b") == "a"
    assert clean("\x9b31mb\x1bPq\x1b\\c") == "bc"
