"""`python -m sglang_ddtree.check` prints the table of widths with DDTREE, asked of the simulator's ServerArgs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ddtree.conftest import SOURCE
from tests.launcher.host import server_json

pytestmark = pytest.mark.processes

SIMULATOR = SOURCE.parents[3] / "lab" / "simulator" / "src"


def check(directory: Path, *words: str) -> dict[str, Any]:
    path = directory / "server.json"
    argv = ["--model-path", "/m", "--speculative-draft-model-path", "/d", *words]
    path.write_text(json.dumps(server_json(30000, argv=argv, credentials={})), encoding="utf-8")
    done = subprocess.run(
        (sys.executable, "-m", "sglang_ddtree.check", "--args-file", str(path), "--format", "json"),
        env={"PYTHONPATH": f"{SOURCE}:{SIMULATOR}"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 0, answer
    return answer


def test_widths(tmp_path: Path) -> None:
    flags = ("--speculative-algorithm", "DDTREE", "--speculative-ddtree-budget", "32", "--speculative-dflash-block-size", "8")
    widths = check(tmp_path, *flags)["widths"]
    assert (widths["draft_width"], widths["verify_width"], widths["topk"]) == (8, 33, 8)
    assert widths["verify"] == [{"min_batch": 1, "max_batch": None, "budget": 32, "width": 33}]


def test_schedule(tmp_path: Path) -> None:
    schedule = ("--speculative-ddtree-budget-schedule", "1:31,8:15", "--speculative-ddtree-budget", "31")
    widths = check(tmp_path, "--speculative-algorithm", "DDTREE", "--speculative-dflash-block-size", "8", *schedule)["widths"]
    assert [(entry["min_batch"], entry["width"]) for entry in widths["verify"]] == [(1, 32), (8, 16)]


def test_no_widths_without_ddtree(tmp_path: Path) -> None:
    assert "widths" not in check(tmp_path, "--speculative-algorithm", "DFLASH")
