"""Twelve hosts in every state with five minutes of traffic: what the pictures of the docs show."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from tests.exporter.fleet_model import Model, observed, read_later
from tests.exporter.page_site import PageSite

_IDLE = {"answers": 0.0, "running": None, "queued": None, "kv": None, "generated": None}
_B300 = {"hardware": "b300-8x", "model": "DeepSeek-V3.2", "release": "sglang-0.5.13.post1-77aa0192bd11"}
STEP_SECONDS = 5.0
STEPS = 60
HANGS_AT = 40
MODELS = (
    Model(
        "ct200",
        state="failed",
        phase="none",
        exit_code=70,
        result="exit-code",
        restarts=3,
        failures=(
            ("a1b2c3d4e5f60718", "graph_token_count_mismatch", "root", -205.0),
            ("b1b2c3d4e5f60718", "peer_rank_failed", "consequence", -204.0),
        ),
        **_IDLE,  # type: ignore[arg-type]
    ),
    Model("ct201", state="activating", phase="weights", progress=0.43, eta=214, moved=-299, age=-122, **_IDLE),  # type: ignore[arg-type]
    Model("ct202"),
    Model("ct204", healthy=0, running=11, queued=3, kv=0.64),
    Model("ct203", queued=14, running=64, kv=0.93, drift={"file": 2}),
    Model("b300-01", failures=(("c1b2c3d4e5f60718", "nccl_timeout", "root", 5 * 86400.0),), **_B300),  # type: ignore[arg-type]
    Model("b300-02", **_B300),  # type: ignore[arg-type]
    Model("b300-03", state="activating", phase="graph_capture", progress=0.86, moved=20, age=220, **_B300, **_IDLE),  # type: ignore[arg-type]
    Model("lab-1", problem="lab-1: no route to host", read_ago=120),
    Model("lab-2", state="inactive", phase="none", gpus=0, **_IDLE),  # type: ignore[arg-type]
    Model("lab-3", state=None, gpus=0),
    Model("lab-4", state=None, problem="lab-4: the host key isn't the known one"),
)


def demo_site(now: float) -> PageSite:
    """The page at `now`; times of the models count from five minutes before it."""
    chance = random.Random(3)  # noqa: S311  a picture
    models = list(MODELS)
    at = now - STEPS * STEP_SECONDS
    found = [observed(model, at) for model in models]
    clock = [at]
    site = PageSite(found, lambda: clock[0])
    for step in range(STEPS):
        clock[0] += STEP_SECONDS
        for place, model in enumerate(models):
            if model.problem:
                continue
            models[place] = _busier(model, step, place, chance)
            found[place] = read_later(found[place], models[place], STEP_SECONDS)
        site.board.hosts()
    return site


def _busier(model: Model, step: int, place: int, chance: random.Random) -> Model:
    if model.generated is None or (model.healthy == 0 and step >= HANGS_AT):
        return model
    base = 900 if model.host.startswith("b300") else 420
    tokens = STEP_SECONDS * base * (1 + 0.25 * math.sin(step / 7 + place) + chance.uniform(-0.1, 0.1))
    length = 4.2 + 0.5 * math.sin(step / 11 + place) + chance.uniform(-0.15, 0.15)
    return replace(
        model, generated=model.generated + tokens, steps=model.steps + tokens / 4, committed=model.committed + tokens / 4 * length
    )
