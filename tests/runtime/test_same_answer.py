"""An answer is the same in every process: Python orders sets by a hash that is another one each time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import trees

pytestmark = pytest.mark.processes

QUESTIONS = (("page_size", "ModelRunner.page_size"), ("speculative_num_draft_tokens", "num_tokens_per_bs"))


def test_whatever_the_seed_of_hashes(tmp_path: Path) -> None:
    root = trees.index(trees.IN_CI).tree.root
    answers = set()
    for seed in ("1", "4"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "XDG_CACHE_HOME": str(tmp_path)}
        code = "import sys; from ddtree_ops.cli import main; main()"
        told = []
        for name, to in QUESTIONS:
            argv = (sys.executable, "-c", code, "params", "trace", name, "--to", to, "--source", root, "--format", "json")
            told.append(subprocess.run(argv, check=True, capture_output=True, env=environment, text=True).stdout)
        answers.add(tuple(told))
    assert len(answers) == 1
