"""Stage `train`: a target that is sure of its text, and a DFlash drafter that is useful to it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec
from tests.gpu.stage import Found, Options
from tests.gpu.training.corpus import read_corpus
from tests.gpu.training.layout import Pair
from tests.gpu.training.learn import Learned, Recipe, learn_drafter, learn_target
from tests.gpu.training.measure import expect
from tests.gpu.training.prompts import cut_prompts
from tests.gpu.training.store import bfloat16, save_models
from tests.gpu.training.tokens import stream, train_tokenizer

USEFUL = 2.0
TARGET = Recipe(steps=1600, batch=48, length=512, rate=2e-3, seconds=45)
DRAFTER = Recipe(steps=3200, batch=96, length=512, rate=2e-3, seconds=75, anchors=64)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much text, and how long. The defaults took about two minutes on an H200."""

    code_bytes: int = 450_000
    prose_bytes: int = 150_000
    seed: int = 1
    target: Recipe = TARGET
    drafter: Recipe = DRAFTER


QUICK = Plan(
    code_bytes=60_000,
    prose_bytes=30_000,
    target=Recipe(steps=4, batch=2, length=400, rate=1e-3, seconds=60),
    drafter=Recipe(steps=4, batch=2, length=400, rate=1e-3, seconds=60, anchors=4),
)


def needs(_: Options) -> tuple[ServerSpec, ...]:
    return ()


def run(options: Options, _: Servers) -> Found:
    """The models lie in `options.models` afterwards."""
    found = train(options.models, QUICK if options.device == "cpu" else Plan(), options.device)
    lengths = {name: expected["acceptance"] for name, expected in found["expected"].items()}
    useful = min(lengths["seen"], lengths["prose"]) > USEFUL
    verdict = Verdict("blocks are right for more than 2 tokens on the text it was trained for", useful, str(lengths))
    return Found(found, (verdict,))


def train(folder: Path, plan: Plan, device: str) -> dict[str, Any]:
    """Train both, save them under `folder`, say what is to be expected of them."""
    torch.backends.cuda.matmul.allow_tf32 = True
    pair = Pair()
    corpus = read_corpus(plan.code_bytes, plan.prose_bytes)
    tokenizer = train_tokenizer(corpus.training, pair.target.vocabulary)
    streams = {name: stream(tokenizer, getattr(corpus, name)) for name in ("seen", "prose", "unseen")}
    known = torch.cat((streams["seen"], streams["prose"]))
    target = learn_target(pair, known, plan.target, plan.seed, device)
    served = bfloat16(target.weights)
    drafter = learn_drafter(pair, served, known, plan.drafter, plan.seed + 1, device)
    save_models(
        folder, pair, served, drafter.weights, tokenizer, cut_prompts({name: tokens.tolist() for name, tokens in streams.items()})
    )
    drafting = bfloat16(drafter.weights)
    return {
        "tokens": {name: len(tokens) for name, tokens in streams.items()},
        "target": summary(target),
        "drafter": summary(drafter),
        "expected": {name: asdict(expect(pair, served, drafting, tokens, device)) for name, tokens in streams.items()},
    }


def summary(learned: Learned) -> dict[str, Any]:
    size = sum(weight.numel() for weight in learned.weights.values())
    return {"parameters": size, "steps": learned.steps, "seconds": learned.seconds, "losses": list(learned.losses)}
