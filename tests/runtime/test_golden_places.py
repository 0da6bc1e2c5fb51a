"""The golden cases' own places and code are in the sources: a case that names what isn't there proves nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from . import golden, places, versions

IN_CI = "0.5.13.post1"
BESIDE = {"plugin": versions.REPOSITORY / "deploy" / "runtime" / "sglang_ddtree" / "src", "naive": Path(__file__).parent}


def _roots(label: str) -> list[Path]:
    """The folders that make up a tree, without the engine's own reading of one."""
    released = versions.folder() / (IN_CI if label in BESIDE else label)
    if not released.is_dir() and not os.environ.get(versions.FOLDER_VARIABLE):
        pytest.skip(f"no source tree {released}; `python -m tests.runtime.versions {released.name}` fetches it")
    return [released, *([BESIDE[label]] if label in BESIDE else ())]


def _misplaced(labels: tuple[str, ...]) -> list[str]:
    return [
        f"{case}: {place}"
        for case in golden.reach_cases(labels)
        for roots in (_roots(case.expected.tree),)
        for place in (*case.expected.through, *case.expected.nearest)
        if all(places.lacking(root, place) for root in roots)
    ]


def test_places_are_in_the_sources() -> None:
    assert _misplaced((IN_CI, *BESIDE)) == []


@pytest.mark.versions
def test_places_are_in_the_other_versions() -> None:
    assert _misplaced(("0.5.9", "0.5.12.post1", "0.5.23", "vllm")) == []


def test_code_is_in_the_sources() -> None:
    (root,) = _roots(IN_CI)
    cases = golden.about_cases()
    assert [
        f"{case}: {code} in {file}"
        for case in cases
        for places_of in case.places.values()
        for file, code in places_of
        if places.lacks_code(root, file, code)
    ] == []
