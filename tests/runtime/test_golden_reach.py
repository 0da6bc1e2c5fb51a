"""`params trace NAME --to OTHER` against what reading SGLang's and our plugin's sources by hand has shown."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ddtree_ops.runtime.trace import Reach, reaches, trace

from . import golden, trees

CASES = golden.reach_cases((trees.IN_CI, "plugin", "naive"))


def _as_data(reach: Reach) -> dict[str, Any]:
    """The part of the trace document that is about the target."""
    return {"to": dataclasses.asdict(reach), "blind_spots": ()}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reaches_as_the_sources_say(case: golden.ReachCase) -> None:
    answer = reaches(trees.index(case.expected.tree), case.name, case.to)
    assert golden.judge_reach(case, _as_data(answer)) == []


@pytest.mark.parametrize("slug", ["block_size_to_graph_width", "draft_window_to_graph_width"])
def test_the_whole_document_says_the_same(slug: str) -> None:
    (case,) = (case for case in CASES if case.slug == slug)
    index = trees.index(case.expected.tree)
    whole, answer = trace(index, case.name, case.to).as_data()["to"], reaches(index, case.name, case.to)
    assert whole["reaches"] == answer.reaches
    assert [(step["file"], step["line"]) for step in whole["path"]] == [(step.file, step.line) for step in answer.path]


def test_cases_are_of_both_kinds() -> None:
    reaching = sum(case.expected.reaches for case in CASES)
    assert len(CASES) >= 60
    assert 0.4 < reaching / len(CASES) < 0.75
