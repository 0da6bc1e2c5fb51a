"""Small trees: which way a value takes, line by line, and where it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ddtree_ops.runtime.trace import Step, reaches

from .memory_index import MemoryIndex, written

QUESTIONS = [
    pytest.param(case["files"], asked, id=f"{path.stem}-{asked['from']}-{asked['to']}")
    for path in sorted(Path(__file__).with_name("cases").glob("*.yaml"))
    for case in [yaml.load(path.read_text(), yaml.CSafeLoader)]
    for asked in case["ask"]
]


def _lines(steps: tuple[Step, ...]) -> list[str]:
    return [f"{step.file}:{step.line}" for step in steps]


@pytest.mark.parametrize(("files", "asked"), QUESTIONS)
def test_the_way_is_the_one_in_the_source(files: dict[str, str], asked: dict[str, Any], tmp_path: Path) -> None:
    found = reaches(MemoryIndex(written(tmp_path, files)), asked["from"], asked["to"])
    assert found.complete
    if "path" in asked:
        assert _lines(found.path) == asked["path"]
        assert all(step.code for step in found.path)
    else:
        assert not found.reaches, _lines(found.path)
        assert set(asked["nearest"]) <= set(_lines(found.nearest))
