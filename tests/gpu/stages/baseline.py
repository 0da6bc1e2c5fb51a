"""Stage `baseline`: the pair under released SGLang, plain and DFLASH, before any tree: is the drafter useful at all?"""

from __future__ import annotations

from tests.gpu.client import acceptance
from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec, dflash
from tests.gpu.stage import Found, Options
from tests.gpu.training.prompts import load_prompts

USEFUL = 2.0
# `unseen` is there to show drafting that hardly pays
KNOWN = ("seen", "prose")
NEW_TOKENS = 128


def needs(options: Options) -> tuple[ServerSpec, ...]:
    return ServerSpec("plain"), dflash(options.models)


def run(options: Options, servers: Servers) -> Found:
    """Acceptance length of DFLASH on each prompt set, whether its greedy text is plain decoding's, and a piece of the text."""
    lengths, same, samples = {}, {}, {}
    for name, prompts in load_prompts(options.models / "prompts.json").items():
        plain = servers.client("plain").generate(prompts, NEW_TOKENS)
        drafts = servers.client("dflash").generate(prompts, NEW_TOKENS)
        lengths[name] = round(acceptance(drafts), 3)
        same[name] = sum(one.tokens == other.tokens for one, other in zip(plain, drafts, strict=True)) / len(prompts)
        samples[name] = plain[1].text[:200]
    useful = all(lengths[name] > USEFUL for name in KNOWN)
    verdict = Verdict("DFLASH accepts more than 2 tokens a step on the text it was trained for", useful, str(lengths))
    return Found({"acceptance": lengths, "same_text": same, "samples": samples}, (verdict,))
