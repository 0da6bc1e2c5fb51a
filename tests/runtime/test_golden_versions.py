"""The golden cases of other SGLang versions and of vLLM (`make versions` fetches them), and pairs that nobody tuned for."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ddtree_ops.runtime.trace import reaches, trace

from . import golden, trees

CASES = golden.reach_cases(("0.5.9", "0.5.12.post1", "0.5.23", "vllm"))
PAIRS = yaml.load(Path(__file__).with_name("cases").joinpath("pairs.yaml").read_text(), yaml.CSafeLoader)
pytestmark = pytest.mark.versions


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reaches_as_the_sources_say(case: golden.ReachCase) -> None:
    answer = trace(trees.index(case.expected.tree), case.name, case.to).as_data()
    assert golden.judge_reach(case, answer) == []


@pytest.mark.parametrize("tree", PAIRS)
def test_pairs_that_nobody_tuned_for(tree: str) -> None:
    index = trees.index(tree)
    answers = [(name, to, truth, reaches(index, name, to).reaches) for name, to, truth in PAIRS[tree]]
    assert [(name, to) for name, to, truth, found in answers if found and truth is False] == []
    assert [(name, to) for name, to, truth, found in answers if not found and truth is True] == []
