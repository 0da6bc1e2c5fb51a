"""The document of `params trace`: what it lists of a name, what it says of names that aren't there, and what it doesn't load."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime import trace as tracing
from ddtree_ops.runtime.trace import reaches, trace

from .flow.memory_index import MemoryIndex, written

ARGUMENTS = """\
import logging

logger = logging.getLogger(__name__)


class ServerArgs:
    width: int = 8
    depth: int = 2

    def check(self):
        assert self.width > 0, "must be positive"
        half = self.width // 2
        if half > 100:
            raise ValueError("too wide")
        if self.depth > 9:
            logger.warning("deep")
        self.width = min(
            self.width,
            4096,
        )
        logger.info("width %d", self.width)

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument(
            "--width",
            type=int,
        )
"""
RUNNER = """\
from .arguments import ServerArgs


class Runner:
    def __init__(self, args: ServerArgs, names):
        self.columns = args.width * 2
        for name in names:
            setattr(self, name, getattr(args, name))
"""
UNRELATED = "def nothing(value):\n    return value\n"


@pytest.fixture
def index(tmp_path: Path) -> MemoryIndex:
    files = {"pkg/arguments.py": ARGUMENTS, "pkg/runner.py": RUNNER, "pkg/unrelated.py": UNRELATED}
    return MemoryIndex(written(tmp_path, files))


def test_the_document_has_all_that_the_source_says(index: MemoryIndex) -> None:
    data = trace(index, "width").as_data()
    assert {(each["kind"], each["line"]) for each in data["definitions"]} == {("field", 7), ("flag", 25)}
    assert [(each["kind"], each["line"], each["condition"]) for each in data["validations"]] == [
        ("assert", 11, "self.width > 0"),
        ("clamp", 17, "min( self.width, 4096, )"),
        ("raise", 13, "half > 100"),
    ]
    assert data["validations"][2]["outcome"] == 'raise ValueError("too wide")'
    assert [(each["line"], each["function"]) for each in data["writes"]] == [(17, "ServerArgs.check")]
    assert {(each["file"], each["line"]) for each in data["reads"]} == {
        *(("pkg/arguments.py", line) for line in (11, 12, 18, 21)),
        ("pkg/runner.py", 6),
    }
    assert {each["name"] for each in data["derived"]} == {"half", "Runner.columns"}
    assert data["to"] is None


def test_a_statement_over_several_lines_reads_as_one(index: MemoryIndex) -> None:
    (write,) = trace(index, "width").writes
    assert write.code == "self.width = min( self.width, 4096, )"


def test_what_cannot_be_seen_is_listed_where_a_value_passes(index: MemoryIndex) -> None:
    spots = trace(index, "names").blind_spots
    assert [(spot.line, spot.why) for spot in spots] == [(8, "reads an attribute of computed name")]


def test_the_way_stands_under_to(index: MemoryIndex) -> None:
    to = trace(index, "--width", "Runner.columns").as_data()["to"]
    assert to["name"] == "Runner.columns"
    assert to["reaches"]
    assert [step["line"] for step in to["path"]] == [7, 6]


def test_an_unknown_name_gets_names_like_it(index: MemoryIndex) -> None:
    with pytest.raises(UsageError, match=r"has no widht") as caught:
        trace(index, "widht")
    assert "width" in str(caught.value.hint)
    with pytest.raises(UsageError, match=r"Runner\.colums"):
        reaches(index, "width", "Runner.colums")


def test_files_that_have_nothing_to_do_with_it_are_not_loaded(index: MemoryIndex) -> None:
    reaches(index, "width", "Runner.columns")
    assert "pkg/unrelated.py" not in index.loaded


def test_a_search_that_gave_up_says_so(index: MemoryIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound in ("_SOON", "_BOUND", "_BEFORE"):
        monkeypatch.setattr(tracing, bound, 0)
    told = trace(index, "width", "Runner.columns")
    assert told.to is not None
    assert not told.to.reaches
    assert not told.to.complete
    assert any("gave up" in spot.why for spot in told.blind_spots)


def test_blind_spots_of_one_question_are_not_told_with_the_next(index: MemoryIndex) -> None:
    assert trace(index, "names").blind_spots
    assert not trace(index, "depth").blind_spots


def test_a_long_line_of_classes_holds_nothing_up(tmp_path: Path) -> None:
    classes = "".join(f"class C{n}(C{n - 1}):\n    pass\n" for n in range(1, 3000))
    source = f"class C0:\n    width = 1\n{classes}def make(c: C2999):\n    made = c.width\n"
    found = reaches(MemoryIndex(written(tmp_path, {"a.py": source})), "C0.width", "C5.width")
    assert not found.reaches
