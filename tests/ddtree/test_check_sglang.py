"""`python -m sglang_ddtree.check` as a host runs it: SGLang's own ServerArgs, the plugin loaded by its entry point. On a CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.ddtree.conftest import SOURCE
from tests.ddtree.on_cpu import HAS_VARIABLE, needs
from tests.launcher.host import server_json

pytestmark = pytest.mark.processes

needs("torch", "sglang.srt.server_args")

ROOT = Path(__file__).parents[2]
SIZES: dict[str, Any] = {
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 300,
    "max_position_embeddings": 4096,
}
TARGET = SIZES | {"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 4}
DRAFTER = SIZES | {
    "architectures": ["DFlashDraftModel"],
    "num_hidden_layers": 1,
    "block_size": 8,
    "num_target_layers": 4,
    "dflash_config": {"mask_token_id": 299, "target_layer_ids": [1, 2]},
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """What makes an interpreter on a CPU look like a release's venv: the plugin's entry point, and `on_cpu`'s preparations."""
    info = tmp_path / "site" / "sglang_ddtree-0.dist-info"
    info.mkdir(parents=True)
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((group, points),) = project["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang-ddtree\nVersion: 0\n", encoding="utf-8")
    prepare = "from tests.ddtree.on_cpu import needs\nneeds('torch')\n"
    (info.parent / "sitecustomize.py").write_text(prepare, encoding="utf-8")
    return info.parent


def check(site: Path, drafter: dict[str, Any], *words: str) -> tuple[int, dict[str, Any], str]:
    """Exit status, verdict, and what was said on stderr."""
    for name, config in (("target", TARGET), ("drafter", drafter)):
        (site / name).mkdir()
        (site / name / "config.json").write_text(json.dumps(config), encoding="utf-8")
    models = ["--model-path", str(site / "target"), "--speculative-draft-model-path", str(site / "drafter")]
    argv = [*models, "--speculative-algorithm", "DDTREE", "--device", "cuda", *words]
    args_file = site / "server.json"
    args_file.write_text(json.dumps(server_json(30000, argv=argv, credentials={})), encoding="utf-8")
    done = subprocess.run(
        (sys.executable, "-m", "sglang_ddtree.check", "--args-file", str(args_file), "--format", "json"),
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(site),
            HAS_VARIABLE: os.environ.get(HAS_VARIABLE, ""),
            "PYTHONPATH": os.pathsep.join((str(site), str(ROOT), str(SOURCE), os.environ.get("PYTHONPATH", ""))),
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return done.returncode, json.loads(done.stdout), done.stderr


def test_accepted_with_the_widths_that_every_pass_will_have(site: Path) -> None:
    triton = ("--attention-backend", "triton", "--page-size", "1")
    budget = ("--speculative-ddtree-budget", "32", "--speculative-ddtree-budget-schedule", "1:32,8:15")
    code, verdict, said = check(site, DRAFTER, *triton, *budget)
    assert code == 0, (verdict, said[-2000:])
    widths = verdict["widths"]
    assert (widths["draft_width"], widths["verify_width"]) == (8, 33)
    assert [entry["width"] for entry in widths["verify"]] == [33, 16]


def test_everything_that_is_wrong_is_refused_at_once(site: Path) -> None:
    code, verdict, said = check(
        site, DRAFTER | {"num_target_layers": 36}, "--attention-backend", "flashinfer", "--page-size", "64", "--pp-size", "2"
    )
    assert code == 78
    assert verdict["message"].startswith("DDTREE refuses: page size 64")
    for reason in ("page size 64", "back-end flashinfer", "pipeline parallel size 2", "trained for a target of 36 layers"):
        assert reason in said, (reason, said[-2000:])


def test_what_the_drafter_could_not_follow_is_refused(site: Path) -> None:
    triton = ("--attention-backend", "triton", "--page-size", "1")
    asked = ("--enable-return-hidden-states", "--enable-hierarchical-cache", "--speculative-draft-window-size", "4")
    code, _, said = check(site, DRAFTER, *triton, *asked)
    assert code == 78
    for reason in ("hidden states can't be returned", "hierarchical cache", "draft window of 4 tokens"):
        assert reason in said, (reason, said[-2000:])
