"""SGLang's own verdict on arguments, asked in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sglang_ddtree.exit_codes import ExitCode
from tests.launcher.conftest import SOURCE
from tests.launcher.host import STAND_IN, server_json

pytestmark = pytest.mark.processes


def ask(directory: Path, *arguments: str, stand_in: Path = STAND_IN) -> tuple[int, dict[str, Any]]:
    path = directory / "server.json"
    path.write_text(json.dumps(server_json(30000, argv=list(arguments))), encoding="utf-8")
    done = subprocess.run(
        (sys.executable, "-m", "sglang_ddtree.check", "--args-file", str(path), "--format", "json"),
        env={"PYTHONPATH": f"{SOURCE}:{stand_in}"},
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
    assert verdict == {"ok": True, "sglang_version": "0.0.stand-in", "message": "SGLang accepts these arguments"}


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


@pytest.mark.parametrize(
    ("plugins", "status", "message"),
    [
        ("def load_plugins(): print('loaded')", 0, "SGLang accepts these arguments"),
        ("def load_plugins(): import nonexistent_dependency", ExitCode.REFUSED, "'nonexistent_dependency'"),
        ("import nonexistent_dependency", ExitCode.REFUSED, "'nonexistent_dependency'"),
    ],
)
def test_a_plugin_that_is_broken_is_told(tmp_path: Path, plugins: str, status: int, message: str) -> None:
    stand_in = tmp_path / "stand_in"
    shutil.copytree(STAND_IN, stand_in, ignore=shutil.ignore_patterns("__pycache__"))
    (stand_in / "sglang" / "srt" / "plugins.py").write_text(plugins + "\n", encoding="utf-8")
    ended, verdict = ask(tmp_path, "--model-path", "/m", stand_in=stand_in)
    assert ended == status
    assert message in verdict["message"]


def test_without_sglang_its_version_is_unknown(tmp_path: Path) -> None:
    status, verdict = ask(tmp_path, "--model-path", "/m", stand_in=tmp_path)
    assert status == ExitCode.REFUSED
    assert verdict == {"ok": False, "sglang_version": None, "message": "ModuleNotFoundError: No module named 'sglang'"}
