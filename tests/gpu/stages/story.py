"""Stage `story` (d): the naive tree crashes with 8 against 33 at its first decode, DDTREE with the same budget of 32 serves."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

from tests.gpu import naive_ddtree
from tests.gpu.client import NoAnswer
from tests.gpu.results import Verdict
from tests.gpu.server import Server, Servers, ServerSpec, ddtree
from tests.gpu.stage import Found, Options
from tests.gpu.training.prompts import load_prompts

BUDGET = naive_ddtree.BUDGET
MISMATCH = re.compile(r"size of tensor a \((\d{1,6})\) must match the size of tensor b \((\d{1,6})\)")
END_S = 90.0


def needs(options: Options) -> tuple[ServerSpec, ...]:
    """The same model and flags for both; only the plugin differs."""
    site = options.out / "naive-site"
    _install(site)
    path = f"{site.resolve()}:{os.environ.get('PYTHONPATH', '')}"
    variables = {"PYTHONPATH": path, "SGLANG_PLUGINS": "naive_ddtree", "SGLANG_CUDA_COREDUMP_BEFORE_CRASH": "0"}
    words = ("--speculative-algorithm", "DDTREE", "--speculative-draft-model-path", str(options.models / "draft"))
    return ddtree(options.models, BUDGET), ServerSpec("naive", words, variables, may_die=True)


def run(options: Options, servers: Servers) -> Found:
    """The naive server dies in its own warm-up request or, if that doesn't decode, at the first prompt."""
    prompts = load_prompts(options.models / "prompts.json")["seen"][:8]
    sizes = _crash(servers.running["naive"], prompts[0])
    server = servers.running[f"ddtree-{BUDGET}"]
    answers = server.client.generate(prompts, 64)
    served = all(len(answer.tokens) == 64 for answer in answers) and server.alive()
    return Found(
        {"naive_sizes": sizes, "ddtree_tokens": sum(len(answer.tokens) for answer in answers)},
        (
            Verdict("the naive tree dies of 8 against 33", sorted(sizes) == [8, 33], f"sizes in its traceback: {sizes}"),
            Verdict("DDTREE with budget 32 serves", served, f"{len(answers)} answers, alive {server.alive()}"),
        ),
    )


def _crash(server: Server, prompt: list[int]) -> list[int]:
    """The two sizes of the crash in the log, [] if there was none."""
    with contextlib.suppress(NoAnswer):
        server.client.generate([prompt], 8)
    deadline = time.monotonic() + END_S
    while server.alive() and time.monotonic() < deadline and not MISMATCH.search(server.tail(100_000)):
        time.sleep(0.5)
    found = MISMATCH.search(server.tail(100_000))
    return [int(size) for size in found.groups()] if found else []


def _install(site: Path) -> None:
    """The naive plugin as an installed package: a module and its entry point."""
    about = site / "naive_ddtree-0.1.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(naive_ddtree.__file__, site / "naive_ddtree.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: naive-ddtree\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text("[sglang.srt.plugins]\nnaive_ddtree = naive_ddtree:load\n")
