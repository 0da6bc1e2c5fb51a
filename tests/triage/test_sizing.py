"""What sized the operands of a raising line, found by following the traceback's own frames back through a source tree."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.origins.constants import constants
from ddtree_ops.triage.origins.located import locate
from ddtree_ops.triage.origins.sizing import Find, sinks
from tests.triage.sources import PACKAGES

SITE = "/opt/ddtree/current/venv/lib/python3.12/site-packages/"
RUNNER, BUFFERS = "sglang/srt/graph_runner.py", "sglang/srt/buffers.py"
STORY = (
    Frame(SITE + RUNNER, 34, "replay_prepare", "self.buffers.fill_from(batch, raw_bs, raw_tokens)"),
    Frame(SITE + BUFFERS, 21, "fill_from", "copy_all(dsts, srcs)"),
    Frame(SITE + BUFFERS, 6, "copy_all", "dst.copy_(src)"),
)


def engine(file: str) -> tuple[str, bytes] | None:
    """The engine's package, as a tree has it."""
    tail = file.removeprefix(SITE)
    known = PACKAGES / "engine" / tail
    return (tail, known.read_bytes()) if known.is_file() else None


def one_file(text: str) -> Find:
    return lambda file: (file, text.encode())


def targets(frames: tuple[Frame, ...], find: Find) -> list[str]:
    return [item.target for item in sinks(frames, find)]


def test_the_width_that_the_graph_was_captured_for_is_found() -> None:
    assert targets(STORY, engine) == ["GraphRunner.tokens_per_request", "Batch.batch_size"]


def test_frames_of_libraries_between_do_not_matter() -> None:
    library = Frame("/usr/lib/python3.12/contextlib.py", 81, "inner", "return func(*args, **kwds)", in_app=False)
    assert targets((STORY[0], library, *STORY[1:]), engine) == targets(STORY, engine)


def test_lines_that_moved_are_found_by_their_code() -> None:
    moved = tuple(Frame(item.file, (item.line or 0) + 40, item.function, item.code) for item in STORY)
    assert targets(moved, engine) == targets(STORY, engine)


def test_another_version_is_not_taken_for_the_one_that_ran() -> None:
    other = tuple(Frame(item.file, item.line, item.function, f"{item.code}  # changed") for item in STORY)
    assert targets(other, engine) == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("x.copy_(y)", []),
        ("a = torch.zeros(self.rows * n)\n        x.copy_(a)", ["Box.rows"]),
        ("n = self.rows if self.flag else self.columns\n        x.copy_(x[:n])", ["Box.rows", "Box.columns"]),
        ("n, m = self.rows, self.columns\n        x.copy_(y[:m])", ["Box.columns"]),
        ("if self.flag > 3:\n            n = self.rows\n        x.copy_(y[:n])", ["Box.rows"]),
        ("for n in self.rows:\n            x.copy_(y[:n])", ["Box.rows"]),
        ("parts = {}\n        parts[0] = self.rows\n        x.copy_(torch.cat(parts))", ["Box.rows"]),
        ("parts = []\n        parts.append(self.rows)\n        x.copy_(torch.cat(parts))", ["Box.rows"]),
        ("x.copy_(y.view(-1, batch.width))", ["Batch.width"]),
        ("x.copy_(other.width)", []),
        ("x.copy_(self.make(y))", []),
    ],
)
def test_what_is_followed_within_a_function(body: str, found: list[str]) -> None:
    text = f"class Box:\n    def fill(self, x, y, batch: 'Batch', other):\n        {body}\n"
    code = body.rsplit("\n", 1)[-1].strip()
    assert targets((Frame("box.py", 3, "fill", code),), one_file(text)) == found


def test_arguments_by_position_and_name() -> None:
    text = (
        "class Box:\n"
        "    def outer(self):\n"
        "        self.inner(self.rows, m=self.columns, n=self.depth)\n"
        "    def inner(self, k, *, m, n):\n"
        "        fill(n, k)\n"
    )
    frames = (
        Frame("box.py", 3, "outer", "self.inner(self.rows, m=self.columns, n=self.depth)"),
        Frame("box.py", 5, "inner", "fill(n, k)"),
    )
    assert targets(frames, one_file(text)) == ["Box.rows", "Box.depth"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def f(:\n",
        "def f():\n    x\n" + "\0",
        "x = " + "(" * 5000,
        "x = " + "-" * 200_000 + "1",
        "def f():\n    x = " + "+".join(["1"] * 50_000) + "\n",
    ],
    ids=["empty", "broken", "nul", "parentheses", "signs", "sum"],
)
def test_a_file_that_is_no_source_gives_nothing(text: str) -> None:
    frame = Frame("box.py", 2, "f", "x")
    assert targets((frame,), one_file(text)) == []
    assert constants(33, "box.py", text.encode()) == ()


def test_a_function_without_end_is_followed_only_so_far() -> None:
    lines = "".join(f"    a{index + 1} = a{index} + self.w{index}\n" for index in range(20_000))
    text = f"class Box:\n  def fill(self, a0):\n{lines}    put(a20000)\n"
    assert len(targets((Frame("box.py", 20_003, "fill", "put(a20000)"),), one_file(text))) <= 24


def test_a_frame_without_code_stands_at_its_line() -> None:
    place = locate(Frame(SITE + BUFFERS, 6, "copy_all"), *(engine(SITE + BUFFERS) or ("", b"")))
    assert place
    assert place.function.name == "copy_all"
    assert locate(Frame(SITE + BUFFERS, 600, "copy_all"), *(engine(SITE + BUFFERS) or ("", b""))) is None


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("BUDGET = 32\nn = BUDGET + 1\n", 33, [("BUDGET + 1", 2, 1)]),
        ("BUDGET: int = 32\nn = 1 + BUDGET\n", 33, [("1 + BUDGET", 2, 1)]),
        ("WIDTH = 34\nn = WIDTH - 1\n", 33, [("WIDTH - 1", 2, 1)]),
        ("WIDTH = 33\nn = WIDTH\n", 33, [("WIDTH", 2, 1)]),
        ("WIDTH = 33\n", 33, []),
        ("B = 32\nB = 33\nn = B + 1\n", 33, []),
        ("B = True\nn = B + 32\n", 33, []),
        ("B = 1\nn = B + 1\n", 2, []),
        ("B = 32\nn = B * 1\n", 32, [("B", 2, 1)]),
    ],
)
def test_constants_of_a_plugin(text: str, value: int, found: list[tuple[str, int, int]]) -> None:
    assert [(item.expression, item.line, item.defined) for item in constants(value, "plugin.py", text.encode())] == found
