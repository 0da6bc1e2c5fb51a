"""Lines of others in between, headers and ends that are missing, lone exception lines, and what only looks like one."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.block import Origin, Relation
from tests.triage.journals import plain, written
from tests.triage.reading import from_text, one, read, traceback_of

RECORD = "[2026-11-29 18:36:24 TP1] Decode batch. #running-req: 1"
HEAD = "[2026-11-29 18:36:24 TP1] Scheduler hit an exception: Traceback (most recent call last):"
RELATION = "During handling of the above exception, another exception occurred:"
VLLM = "ERROR 04-02 03:04:05 [core.py:1101] "


@pytest.mark.parametrize("stranger", [RECORD, "INFO:     127.0.0.1 - GET / 200", "[rank1]:[W1129 18:36:24 x.cpp:3] warning"])
def test_a_chain_survives_other_threads_lines(stranger: str) -> None:
    lines = [*traceback_of("one"), stranger, "", stranger, RELATION, stranger, "", *traceback_of("two")]
    found = one(lines)
    assert [(item.message, item.relation) for item in found.exceptions] == [("one", None), ("two", Relation.CONTEXT)]


def test_a_word_with_a_colon_between_frames_is_no_exception() -> None:
    first, *frames, last = traceback_of("one")
    found = one([first, *frames, "Capturing: 3 of 8", *frames, last])
    assert (found.ending.type, len(found.ending.frames)) == ("ValueError", 2)


def test_a_record_of_another_line_ends_the_message() -> None:
    lines = [VLLM + line for line in traceback_of("one")] + ["ERROR 04-02 03:04:05 [core.py:1200] other words"]
    assert one(lines).ending.message == "one"


def test_line_numbers_that_differ_between_frames_may_differ_in_the_message() -> None:
    lines = [f"ERROR 04-02 03:04:0{n} [core.py:{n}] {line}" for n, line in enumerate([*traceback_of("one"), "advice"])]
    assert one(lines).ending.message == "one\nadvice"


def test_prefix_on_the_first_line_only_with_an_empty_line_behind() -> None:
    (found,) = from_text(
        "\n".join(["[04/02/2026-03:04:05] [TRT-LLM] [E] Traceback (most recent call last):", "", *traceback_of("one")[1:]])
    )
    assert len(found.ending.frames) == 1


def test_a_table_in_a_message_stays() -> None:
    table = ["|====|====|", "| a  | b  |", "+----+----+", "+------------------------------------+"]
    assert one([*traceback_of("one"), *table]).ending.message == "\n".join(["one", *table])


def test_indentation_taken_away_by_a_logger() -> None:
    found = one([line.strip() for line in traceback_of("one")]).ending
    assert (found.frames[0].code, found.type) == ("one(x)", "ValueError")


def test_a_lost_header_within_a_chain() -> None:
    found = one([*traceback_of("one"), "", RELATION, "", *traceback_of("two")[1:]])
    assert [(item.message, item.complete) for item in found.exceptions] == [("one", True), ("two", False)]


def test_two_processes_prefixes_on_one_line() -> None:
    own, other = "(W_TP0 pid=7) ", "(W_TP1 pid=8) "
    a, b = traceback_of("a"), traceback_of("b")
    lines = [own + a[0], other + b[0], f"{own}{other}{b[1]}", a[1], other + b[4], own + a[4]]
    assert {(item.rank, item.ending.message, len(item.ending.frames)) for item in from_text("\n".join(lines))} == {
        ("TP0", "a", 1),
        ("TP1", "b", 1),
    }


def test_without_the_header() -> None:
    found = one(traceback_of("one")[1:])
    assert (found.ending.type, found.ending.complete, len(found.ending.frames)) == ("ValueError", False, 1)


@pytest.mark.parametrize("end", ["Note: all is well", "Error: none", "Killed", "UserWarning: old", "x: y", "", RECORD])
def test_a_printed_stack_is_no_traceback(end: str) -> None:
    assert read(written([(7, line) for line in [*traceback_of("one")[1:4], end]])) == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("OSError: Can't load", "OSError"),
        ("torch.OutOfMemoryError: CUDA out of memory.", "torch.OutOfMemoryError"),
        ("[rank3]: KeyError: 'x'", "KeyError"),
        ("Exception: failed", "Exception"),
        ("SystemExit: 3", "SystemExit"),
    ],
)
def test_an_exception_alone(line: str, kind: str) -> None:
    found = one([line])
    assert (found.origin, found.ending.type, found.ending.complete) == (Origin.BARE_EXCEPTION, kind, False)


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: failed",
        "Error: failed",
        "Note: Exception: x",
        "INFO: ValueError: x",
        "got ValueError: x",
        "ValueError",
        "ValueError:",
        "UserWarning: old",
        "  ValueError: x",
        "[2026-11-29 18:36:24 TP1] ValueError: x",
        "ERROR 04-02 03:04:05 [core.py:1101] ValueError: x",
        "'ValueError: x'",
        "my-Error: x",
    ],
)
def test_no_exception_alone(line: str) -> None:
    assert read(plain(line)) == []


@pytest.mark.parametrize(("between", "count"), [([], 0), (["more words"], 0), ([""], 1)])
def test_a_records_further_lines_are_quotations(between: list[str], count: int) -> None:
    lines = ["[2026-11-29 18:36:24 TP1] prompt:", *between, "ValueError: x"]
    assert len(read(plain("\n".join(lines)))) == count
    assert len(read(written([(7, line) for line in lines]))) == count


def test_an_exception_alone_a_while_after_a_record() -> None:
    assert len(read(written([(7, RECORD), (7, "ValueError: x")], step_us=300_000))) == 1


@pytest.mark.parametrize("said", ["in: <_io.TextIOWrapper name='<stdout>'>", "while flushing sys.stdout:"])
def test_what_the_interpreter_ignores_is_no_exception_alone(said: str) -> None:
    lines = [f"Exception ignored {said}", "BrokenPipeError: [Errno 32] Broken pipe"]
    assert read(written([(7, line) for line in lines])) == []
    assert len(read(written([(7, lines[0]), (8, lines[1])]))) == 1


def test_a_place_of_a_syntax_error_is_a_note() -> None:
    lines = [
        *traceback_of("one")[:3],
        '  File "/opt/model.py", line 9',
        "    x = = 1",
        "        ^",
        "SyntaxError: invalid syntax",
    ]
    found = one(lines).ending
    assert found.notes == ('File "/opt/model.py", line 9\nx = = 1\n    ^',)
    assert (len(found.frames), found.message) == (1, "invalid syntax")


def test_members_that_are_not_printed_make_the_group_incomplete() -> None:
    found = one(
        [
            "  + Exception Group Traceback (most recent call last):",
            '  |   File "/a.py", line 1, in f',
            "  | ExceptionGroup: both (3 sub-exceptions)",
            "  +-+---------------- 1 ----------------",
            "    | ValueError: first",
            "    +---------------- ... ----------------",
            "    | and 2 more exceptions",
            "    +------------------------------------",
        ]
    )
    assert [(item.type, item.complete) for item in found.exceptions] == [("ExceptionGroup", False), ("ValueError", True)]
