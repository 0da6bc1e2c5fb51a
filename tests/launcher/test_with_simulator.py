"""The launcher with the lab's simulator in SGLang's place: a whole load with a draft model, and the crash of the story."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sglang_ddtree.exit_codes import ExitCode
from tests.launcher.host import Launched, launch
from tests.ports import free_port

pytestmark = pytest.mark.processes

SIMULATOR = Path(__file__).parents[2] / "lab" / "simulator" / "src"


def models(directory: Path) -> tuple[Path, Path]:
    target, draft = directory / "target", directory / "draft"
    for path in (target, draft):
        path.mkdir()
        (path / "model.safetensors").write_bytes(bytes(4096))
        (path / "config.json").write_text('{"block_size": 8}', encoding="utf-8")
    return target, draft


def load(directory: Path, *words: str, **settings: str) -> Launched:
    target, draft = models(directory)
    port = free_port()
    listen = ("--host", "127.0.0.1", "--port", str(port))
    argv = ["--model-path", str(target), *listen, "--speculative-draft-model-path", str(draft), *words]
    # the simulator, not the stand-in: its place on the path is the server's environment
    path = f"{SIMULATOR}:{Path(__file__).parents[2] / 'deploy' / 'runtime' / 'sglang_ddtree' / 'src'}"
    changes: dict[str, Any] = {"argv": argv, "environment": {"PYTHONPATH": path, "SIM_LOAD_SECONDS": "0.5", **settings}}
    return launch(directory, "", port=port, **changes)


STORY = ("--speculative-algorithm", "DDTREE", "--speculative-ddtree-budget", "32")


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Launched]]:
    running = {
        "whole": load(tmp_path_factory.mktemp("whole"), "--speculative-algorithm", "DFLASH"),
        "warmup": load(tmp_path_factory.mktemp("warmup"), *STORY, SIM_FAULT="graph_width:warmup"),
        "garbage": load(tmp_path_factory.mktemp("garbage"), "--speculative-algorithm", "DFLASH", SIM_FAULT="wrong_answers"),
        "request": load(tmp_path_factory.mktemp("request"), *STORY, SIM_FAULT="graph_width:request"),
    }
    yield running
    for one in running.values():
        one.close()


def test_a_whole_load(loads: dict[str, Launched]) -> None:
    launched = loads["whole"]
    launched.wait_for("READY=1", timeout_s=30)
    launched.process.send_signal(signal.SIGTERM)
    assert launched.end() == ExitCode.STOPPED
    names = [name for name, _ in launched.boots()[0]["segments"]]
    middle = ["distributed_init", "weights", "kv_cache", "graph_capture"]
    assert names[:-1] == ["arguments", *middle, *(f"draft_{name}" for name in middle), "warmup"]
    memory = launched.boots()[0]["memory"]
    assert {"free_before", "weights", "tokens", "kv", "draft_weights", "draft_kv"} <= memory.keys()
    assert memory["free_before"] > memory["kv"] > 0


@pytest.mark.parametrize("moment", ["warmup", "request"])
def test_the_crash_of_the_story(loads: dict[str, Launched], moment: str) -> None:
    launched = loads[moment]
    assert launched.end(timeout_s=30) == ExitCode.CRASHED
    launched.wait_for("crashed: RuntimeError: The size of tensor a (8) must match the size of tensor b (33)")
    assert launched.boots()[0]["outcome"] == "crashed"


def test_wrong_answers_are_garbage(loads: dict[str, Launched]) -> None:
    launched = loads["garbage"]
    assert launched.end(timeout_s=30) == ExitCode.CRASHED
    assert "READY=1" not in launched.wait_for("STATUS=crashed: /generate: garbage: ")
    assert any("ddtree launcher: crashed: /generate: garbage: " in text for _, text in launched.journal.lines)
