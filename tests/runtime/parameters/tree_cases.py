"""Small source trees in the shapes of real ones; a file `x.py.src` stands for `x.py`, which no tool then takes for ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from ddtree_ops.runtime.source.model import SourceFile, SourceTree

CASES = Path(__file__).with_name("cases")


def case_tree(name: str) -> SourceTree:
    """The tree of a case folder."""
    root = CASES / name
    return tree_of({str(path.relative_to(root)).removesuffix(".src"): path.read_bytes() for path in root.rglob("*.src")})


def tree_of(contents: Mapping[str, bytes]) -> SourceTree:
    """A tree in memory."""
    files = (SourceFile(name, reader=lambda content=content: content) for name, content in sorted(contents.items()))  # type: ignore[misc]
    return SourceTree("memory", None, tuple(files))


def as_data(records: Iterable[object]) -> list[dict[str, object]]:
    """Records without what they leave out, as JSON has them."""
    found = []
    for one in records:
        data = dataclasses.asdict(one)  # type: ignore[call-overload]
        kept = {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}
        found.append({name: value for name, value in kept.items() if value not in (None, False, [])})
    return found
