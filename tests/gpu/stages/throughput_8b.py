"""Stage `throughput_8b` (c at a real size): the trained pair grown to Qwen3-8B's arithmetic without changing what it says.

A model of four megabytes decodes in the time that SGLang's scheduler takes between two steps, so its figures show overhead only.
The grown pair reads 16 GB of weights a step, as a real server does, and accepts as the small one does. See training/inflate.py.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from tests.gpu.server import ServerDied, Servers, ServerSpec, ddtree, dflash
from tests.gpu.stage import Found, Options
from tests.gpu.stages.throughput import BUDGET, measure_all
from tests.gpu.training.inflate import QWEN3_8B
from tests.gpu.training.prompts import load_prompts
from tests.gpu.training.store import grow_models

DRAFT_LAYERS = 5
REPEATS = 2
MEMORY = ("--mem-fraction-static", "0.92", "--max-total-tokens", "30000")  # five servers share the card
SCHEDULE = "1:31,8:15,32:7"


def needs(_: Options) -> tuple[ServerSpec, ...]:
    """None beforehand: the models have to be made first."""
    return ()


def run(options: Options, servers: Servers) -> Found:
    """Grow, start five servers, measure as `throughput` does, on two prompt sets."""
    large = options.models.parent / f"{options.models.name}-8b"
    start = time.monotonic()
    grow_models(options.models, large, QWEN3_8B, DRAFT_LAYERS, options.device)
    grown_s = time.monotonic() - start
    grown = Servers(large, servers.logs)
    with grown:
        specs = _specs(large)
        if died := grown.start(*specs):
            raise ServerDied("; ".join(died.values()))
        sets = load_prompts(large / "prompts.json")
        found = measure_all(grown, [spec.name for spec in specs], {name: sets[name] for name in ("seen", "unseen")}, REPEATS)
    return replace(found, findings=found.findings | {"grown_s": round(grown_s, 1), "schedule": SCHEDULE})


def _specs(models: Path) -> list[ServerSpec]:
    timed = ddtree(models, BUDGET, SGLANG_DDTREE_STEP_TIMES="1")
    tree = ddtree(models, BUDGET)
    schedule = replace(tree, name="schedule", words=(*tree.words, "--speculative-ddtree-budget-schedule", SCHEDULE))
    small = (ServerSpec("plain"), dflash(models), tree, schedule, timed)
    return [replace(spec, name=f"{spec.name}-8b", words=(*spec.words, *MEMORY)) for spec in small]
