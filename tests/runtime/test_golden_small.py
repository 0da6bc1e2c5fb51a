"""Small trees, one construct each: what carries a value on and what doesn't."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from ddtree_ops.runtime.source.index import build
from ddtree_ops.runtime.source.tree import open_tree
from ddtree_ops.runtime.trace import reaches

CASES = Path(__file__).with_name("cases") / "small"


@dataclass(frozen=True)
class Small:
    """One construct: a module's source, and pairs with their verdict."""

    what: str
    source: str
    pairs: tuple[tuple[str, str, bool], ...]

    def __str__(self) -> str:
        return self.what


SMALL = tuple(
    Small(item["what"], item["source"], tuple((name, to, reaches) for name, to, reaches in item["pairs"]))
    for path in sorted(CASES.glob("*.yaml"))
    for item in yaml.load(path.read_text(), yaml.CSafeLoader)
)


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_constructs(case: Small, tmp_path: Path) -> None:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.py").write_text(case.source)
    index = build(open_tree(tmp_path), cache=None, workers=1)
    wrong = [f"{name} -> {to}" for name, to, expected in case.pairs if reaches(index, name, to).reaches != expected]
    assert wrong == []
