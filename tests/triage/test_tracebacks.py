"""Tracebacks as Python really prints them, alone, chained, grouped, and interleaved with other processes."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain, zip_longest

import pytest

from ddtree_ops.triage.block import Relation
from ddtree_ops.triage.blocks.recogniser import SETTLE_US
from tests.triage.journals import plain, written
from tests.triage.reading import one, read, traceback_of

HEAD = "[2026-11-29 18:36:24 TP1] Scheduler hit an exception: Traceback (most recent call last):"


def run_python(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    return done.stderr.splitlines()


CHAIN = """
def f():
    try:
        {}['k']
    except KeyError as e:
        raise RuntimeError('a: b\\nsecond line\\n\\nafter a gap') from e
try:
    f()
except RuntimeError:
    raise OSError(28, 'No space')
"""


@pytest.mark.processes
def test_python_chain() -> None:
    found = one(run_python(CHAIN))
    assert [(item.type, item.relation) for item in found.exceptions] == [
        ("KeyError", None),
        ("RuntimeError", Relation.CAUSE),
        ("OSError", Relation.CONTEXT),
    ]
    assert found.exceptions[1].message == "a: b\nsecond line\n\nafter a gap"
    assert [frame.function for frame in found.exceptions[1].frames] == ["<module>", "f"]
    assert found.exceptions[0].frames[0].file == "<string>"
    assert not found.exceptions[0].frames[0].in_app


@pytest.mark.processes
def test_python_recursion_is_told() -> None:
    found = one(run_python("def f():\n    f()\nf()"))
    assert found.ending.type == "RecursionError"
    assert max(frame.repeated for frame in found.ending.frames) > 900


@pytest.mark.processes
def test_python_syntax_error_and_note() -> None:
    assert one(run_python("import ast\nast.parse('a b')")).ending.type == "SyntaxError"
    noted = one(run_python("e = ValueError('x')\ne.add_note('a note')\nraise e")).ending
    assert noted.message == "x\na note"


GROUP = """
def bad(n):
    raise ValueError(n)
def group():
    found = []
    for n in (1, 2):
        try:
            bad(n)
        except ValueError as e:
            found.append(e)
    raise ExceptionGroup('inner', found)
try:
    group()
except ExceptionGroup as e:
    raise ExceptionGroup('outer', [e, KeyError('never raised')]) from None
"""


@pytest.mark.processes
def test_python_exception_group() -> None:
    found = one(run_python(GROUP))
    assert [(item.type, item.message, item.parent) for item in found.exceptions] == [
        ("ExceptionGroup", "outer (2 sub-exceptions)", None),
        ("ExceptionGroup", "inner (2 sub-exceptions)", 0),
        ("ValueError", "1", 1),
        ("ValueError", "2", 1),
        ("KeyError", "'never raised'", 0),
    ]
    assert [item.relation for item in found.exceptions[1:]] == [Relation.GROUP] * 4
    assert found.ending.type == "ExceptionGroup"
    assert [frame.function for frame in found.exceptions[2].frames] == ["group", "bad"]


def test_lines_of_two_processes_interleaved() -> None:
    pairs = zip_longest(((7, text) for text in traceback_of("one")), ((8, text) for text in traceback_of("two")))
    found = read(written([item for item in chain.from_iterable(pairs) if item]))
    assert [(item.pid, item.ending.message, item.ending.frames[0].code) for item in found] == [
        (7, "one", "one(x)"),
        (8, "two", "two(x)"),
    ]


def test_two_in_a_row_are_two() -> None:
    lines = [*traceback_of("one"), *traceback_of("two")]
    assert [item.ending.message for item in read(written([(7, line) for line in lines]))] == ["one", "two"]


def test_plain_text_by_rank_prefix() -> None:
    text = "\n".join([*traceback_of("one", HEAD), "", *traceback_of("two", HEAD.replace("TP1", "DP0 TP2")), ""])
    assert [(item.rank, item.ending.message) for item in read(plain(text))] == [("TP1", "one"), ("DP0 TP2", "two")]


def test_torchs_prefix_on_each_line() -> None:
    found = one([f"[rank3]: {line}" for line in traceback_of("one")])
    assert (found.rank, found.ending.message, len(found.ending.frames)) == ("rank3", "one", 1)


def test_a_loggers_prefix_on_each_line() -> None:
    lines = [f"2026-04-02 03:04:0{second} | ERROR | stderr | {line}" for second, line in enumerate(traceback_of("one"))]
    assert one(lines).ending.frames[0].code == "one(x)"


def test_frames_without_code() -> None:
    found = one(
        [HEAD, '  File "<frozen runpy>", line 88, in _run_code', '  File "/a/b.py", line 1, in g', "zmq.error.ZMQError: no"]
    )
    assert [(frame.code, frame.in_app) for frame in found.ending.frames] == [(None, False), (None, True)]
    assert found.ending.type == "zmq.error.ZMQError"


@pytest.mark.parametrize(
    ("file", "in_app"),
    [
        ("/opt/v/lib/python3.12/site-packages/sglang/srt/x.py", True),
        ("/opt/v/lib/python3.12/site-packages/naive_ddtree.py", True),
        ("/opt/sgl/python/sglang/srt/x.py", True),
        ("/opt/v/lib/python3.12/site-packages/torch/nn/x.py", False),
        ("/usr/lib/python3.12/threading.py", False),
        ("/home/u/.pyenv/versions/3.11.7/lib/python3.11/runpy.py", False),
        ("<string>", False),
    ],
)
def test_in_app(file: str, in_app: bool) -> None:
    found = one([HEAD, f'  File "{file}", line 1, in f', "ValueError: x"])
    assert found.ending.frames[0].in_app is in_app


def test_a_message_ends_where_another_record_begins() -> None:
    lines = [*traceback_of("one", HEAD), "advice", "", "[2026-11-29 18:36:25 TP1] Decode batch", "words"]
    assert one(lines).ending.message == "one\nadvice"


@pytest.mark.parametrize(("pause_us", "count"), [(SETTLE_US, 0), (SETTLE_US + 1, 1)])
def test_given_out_when_the_log_has_gone_on_without_it(pause_us: int, count: int) -> None:
    *entries, other = written([*((7, line) for line in traceback_of("one")), (9, "something")])
    last = entries[-1].realtime_us
    assert last is not None
    assert len(read([*entries, other._replace(realtime_us=last + pause_us)], end=False)) == count


def test_cut_traceback_is_incomplete() -> None:
    found = one(traceback_of("one", HEAD)[:-1])
    assert (found.ending.complete, found.ending.type) == (False, "unknown")


def test_the_words_alone_are_no_traceback() -> None:
    assert read(written([(7, HEAD), (7, "[2026-11-29 18:36:24 TP1] Decode batch"), (7, "x: y")])) == []


def test_evidence_of_a_huge_line_is_cut() -> None:
    found = one([*traceback_of("one", HEAD)[:-1], "ValueError: " + "y" * 50_000])
    assert [len(item.text) for item in found.evidence] == [len(HEAD), 2000]
    assert len(found.ending.message) == 50_000


def test_endless_traceback_is_bounded() -> None:
    lines = [HEAD] + [f'  File "/a/b{number}.py", line 1, in f' for number in range(5000)] + ["ValueError: " + "y" * 200_000]
    found = one(lines).ending
    assert len(found.frames) <= 400
    assert not found.complete
    assert (found.frames[0].file, found.frames[-1].file) == ("/a/b0.py", "/a/b4999.py")


def test_members_of_a_group_whose_own_lines_were_lost() -> None:
    found = one(
        [
            "Traceback (most recent call last):",
            "  +-+---------------- 1 ----------------",
            "    | ValueError: first",
            "    +---------------- 2 ----------------",
            "    | KeyError: 'second'",
            "    +------------------------------------",
        ]
    )
    assert [(item.type, item.parent) for item in found.exceptions] == [("ValueError", None), ("KeyError", None)]
    assert found.ending.type == "KeyError"
