"""`params trace NAME` against what reading SGLang's sources by hand has shown."""

from __future__ import annotations

import pytest

from ddtree_ops.runtime.trace import trace

from . import golden, trees

CASES = golden.about_cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_finds_what_the_sources_say(case: golden.AboutCase) -> None:
    answer = trace(trees.index(trees.IN_CI), case.name).as_data()
    assert golden.judge_about(case, answer) == []


def test_there_are_twenty_parameters() -> None:
    assert len(CASES) >= 20
