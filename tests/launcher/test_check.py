"""SGLang's own verdict on arguments, asked in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sglang_ddtree.exit_codes import ExitCode
from tests.launcher.conftest import SOURCE
from tests.launcher.host import STAND_IN, server_json


def ask(directory: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    path = directory / "server.json"
    path.write_text(json.dumps(server_json(30000, argv=list(arguments))), encoding="utf-8")
    done = subprocess.run(
        (sys.executable, "-m", "sglang_ddtree.check", "--args-file", str(path), "--format", "json"),
        env={"PYTHONPATH": f"{SOURCE}:{STAND_IN}"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    document: dict[str, Any] = json.loads(done.stdout)  # one document and nothing else, whatever SGLang prints
    return done.returncode, document


def test_accepted(tmp_path: Path) -> None:
    status, verdict = ask(tmp_path, "--model-path", "/m", "--tp-size", "8", "--speculative-algorithm", "DFLASH")
    assert status == 0
    assert verdict["ok"] is True
    assert verdict["server_args"] == {"model_path": "/m", "port": 30000, "speculative_algorithm": "DFLASH", "tp_size": 8}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model-path", "/m", "--speculative-algorithm", "X"), "ValueError: Unknown speculative algorithm name: X"),
        (("--model-path", "/m", "--nonsense"), "launch_server.py: error: unrecognized arguments: --nonsense"),
        ((), "launch_server.py: error: the following arguments are required: --model-path"),
    ],
)
def test_refused(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    status, verdict = ask(tmp_path, *words)
    assert status == ExitCode.REFUSED
    assert verdict["ok"] is False
    assert verdict["message"] == message
