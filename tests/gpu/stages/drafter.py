"""Stage `drafter`: another drafter for the target of a saved pair, trained for less long than `train` does.

Trained for long, a drafter knows the text as well as the target does: every block is right, and trees can gain nothing.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec
from tests.gpu.stage import Found, Options
from tests.gpu.stages.train import USEFUL, Plan, summary
from tests.gpu.training.corpus import read_corpus
from tests.gpu.training.layout import Pair
from tests.gpu.training.learn import Recipe, learn_drafter
from tests.gpu.training.measure import expect
from tests.gpu.training.store import bfloat16, load_models, save_drafter
from tests.gpu.training.tokens import load_tokenizer, stream

LESS = Recipe(steps=1500, batch=96, length=512, rate=2e-3, seconds=36, anchors=64)


def needs(_: Options) -> tuple[ServerSpec, ...]:
    return ()


def run(options: Options, _: Servers) -> Found:
    """The corpus must be the one of `train` (same Python), the tokenizer is the saved one."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = True
    pair, plan = Pair(), Plan()
    corpus = read_corpus(plan.code_bytes, plan.prose_bytes)
    tokenizer = load_tokenizer(options.models / "target")
    streams = {name: stream(tokenizer, getattr(corpus, name)) for name in ("seen", "prose", "unseen")}
    target = load_models(options.models, options.device)[0]
    known = torch.cat((streams["seen"], streams["prose"]))
    learned = learn_drafter(pair, target, known, LESS, plan.seed + 2, options.device)
    save_drafter(options.models, pair, learned.weights)
    drafting = bfloat16(learned.weights)
    expected = {name: asdict(expect(pair, target, drafting, tokens, options.device)) for name, tokens in streams.items()}
    lengths: dict[str, Any] = {name: entry["acceptance"] for name, entry in expected.items()}
    useful = min(lengths["seen"], lengths["prose"]) > USEFUL
    verdict = Verdict("blocks are right for more than 2 tokens on the text it was trained for", useful, str(lengths))
    return Found({"drafter": summary(learned), "expected": expected}, (verdict,))
