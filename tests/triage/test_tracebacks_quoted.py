"""Tracebacks that a message repeats, boxes that rich draws, what says whose a traceback is."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.block import Relation
from tests.triage.journals import written
from tests.triage.reading import one, read, traceback_of


def types(lines: list[str]) -> list[tuple[str, Relation | None, int]]:
    return [(item.type, item.relation, len(item.frames)) for item in one(lines).exceptions]


LOADER = [
    *traceback_of("outer")[:-1],
    "RuntimeError: Caught KeyError in DataLoader worker process 0.",
    "Original Traceback (most recent call last):",
    '  File "/opt/app/data.py", line 9, in fetch',
    "    return self.items[key]",
    "KeyError: 'w'",
]
RELATION = "The above exception was the direct cause of the following exception:"


def test_torchs_data_loader() -> None:
    assert types(LOADER) == [("KeyError", None, 1), ("RuntimeError", Relation.CAUSE, 1)]
    assert one(LOADER).ending.message == "\n".join(LOADER[4:]).removeprefix("RuntimeError: ")


def test_a_chain_goes_on_after_a_quotation() -> None:
    lines = [*LOADER, "", RELATION, "", *traceback_of("last")]
    assert [item[0] for item in types(lines)] == ["KeyError", "RuntimeError", "ValueError"]


RAY = [
    "Traceback (most recent call last):",
    '  File "/opt/app/run.py", line 8, in <module>',
    "    ray.get(f.remote())",
    "ray.exceptions.RayTaskError(ValueError): ray::f() (pid=1234, ip=10.0.0.1)",
    '  File "/opt/app/run.py", line 4, in g',
    "    raise KeyError('k')",
    "KeyError: 'k'",
    "",
    RELATION,
    "",
    "ray::f() (pid=1234, ip=10.0.0.1)",
    '  File "/opt/app/run.py", line 6, in f',
    "ValueError: bad",
]


def test_rays_task_error() -> None:
    assert types(RAY) == [
        ("KeyError", None, 1),
        ("ValueError", Relation.CAUSE, 1),
        ("ray.exceptions.RayTaskError(ValueError)", Relation.CAUSE, 1),
    ]


def test_a_chain_goes_on_after_rays_quotation() -> None:
    lines = [*RAY, "", RELATION, "", *traceback_of("last")]
    assert [item[0] for item in types(lines)][-2:] == ["ray.exceptions.RayTaskError(ValueError)", "ValueError"]
    assert one(lines).ending.message == "last"


def test_a_header_in_the_exceptions_own_line_is_quoted() -> None:
    lines = [
        *traceback_of("outer")[:-1],
        "RuntimeError: worker said: Traceback (most recent call last):",
        *traceback_of("inner")[1:],
    ]
    assert types(lines) == [("ValueError", None, 1), ("RuntimeError", Relation.CAUSE, 1)]


BOX = """\
╭─────────────── Traceback (most recent call last) ────────────────╮
│ /opt/venv/lib/python3.12/site-packages/sglang/srt/managers/sched │
│ uler.py:12 in run_scheduler_process                              │
│                                                                  │
│    11 │   config = read()                                        │
│ ❱  12 │   run(config)                                            │
│                                                                  │
│ ╭───────── locals ──────────╮                                    │
│ │ place = '/a.py:3 in nope' │                                    │
│ ╰───────────────────────────╯                                    │
│                                                                  │
│ in _call:7                                                       │
╰──────────────────────────────────────────────────────────────────╯
ValueError: bad"""


@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "(Worker_TP0 pid=9) "])
def test_rich_box(prefix: str) -> None:
    ending = one([prefix + line for line in BOX.split("\n")]).ending
    assert [(frame.file, frame.line, frame.function, frame.code) for frame in ending.frames] == [
        (
            "/opt/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py",
            12,
            "run_scheduler_process",
            "run(config)",
        ),
        ("<unknown>", 7, "_call", None),
    ]
    assert (ending.type, ending.message, ending.complete) == ("ValueError", "bad", True)


def test_rich_box_in_ascii() -> None:
    plain = BOX.translate(str.maketrans("╭╮╰╯│─❱", "++++|->"))
    assert [frame.line for frame in one(plain.split("\n")).ending.frames] == [12, 7]


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        (["Exception in thread Thread-3 (f):"], "Exception in thread Thread-3 (f)"),
        (["ERROR:    Exception in ASGI application"], "ERROR:    Exception in ASGI application"),
        (["Exception ignored in: <function A.__del__ at 0x7f>"], "Exception ignored in: <function A.__del__ at 0x7f>"),
        (["[2026-11-29 18:36:24] Task exception was never retrieved", "future: <Task>"], "Task exception was never retrieved"),
        (["Exception in callback f()", "handle: <Handle f()>"], "Exception in callback f()"),
        (["Process SpawnProcess-1:"], "Process SpawnProcess-1"),
        (["Exception in ", "a", "b", "c", "d"], ""),
        (["something else"], ""),
    ],
)
def test_the_line_above_says_whose_it_is(lines: list[str], header: str) -> None:
    found = one([*lines, *traceback_of("one")])
    assert found.header == header
    assert found.evidence[0].line == (1 if header else len(lines) + 1)


def test_another_processs_announcement_is_none_of_ours() -> None:
    lines = [(8, "Exception in thread Thread-3 (f):"), *((7, line) for line in traceback_of("one"))]
    (found,) = read(written(lines))
    assert found.header == ""
