"""Stage `tp2` (e): two ranks on two cards give the same text; 1,000 tokens make the output head's shards padded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.gpu.client import acceptance
from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec, ddtree, dflash
from tests.gpu.stage import Found, Options
from tests.gpu.stages.lossless import compare, summary
from tests.gpu.training.prompts import load_prompts

BUDGET = 31
NEW_TOKENS = 128
# the custom all-reduce needs peer access through CUDA IPC, which virtual machines often lack
RANKS = ("--tp", "2", "--disable-custom-all-reduce")


def needs(options: Options) -> tuple[ServerSpec, ...]:
    pair = (ServerSpec("plain"), dflash(options.models), ddtree(options.models, BUDGET))
    return tuple(replace(spec, name=f"{spec.name}-tp2", words=(*spec.words, *RANKS)) for spec in pair)


def run(options: Options, servers: Servers) -> Found:
    """DDTREE on two ranks against plain decoding on two ranks, and its acceptance length beside DFLASH's."""
    plain, chain, tree = (servers.client(spec.name) for spec in needs(options))
    findings: dict[str, Any] = {}
    wrong, lower = [], []
    for name, prompts in load_prompts(options.models / "prompts.json").items():
        texts = [answer.tokens for answer in plain.generate(prompts, NEW_TOKENS)]
        found = compare(plain, tree, prompts, texts)
        lengths = [round(acceptance(client.generate(prompts, NEW_TOKENS)), 3) for client in (chain, tree)]
        findings[name] = summary(found, texts) | {"acceptance_dflash": lengths[0], "acceptance_ddtree": lengths[1]}
        wrong += [one for one in found if not one.tie]
        lower += [name] if lengths[1] < lengths[0] else []
    return Found(
        findings,
        (
            Verdict("greedy text on two ranks equals plain decoding's", not wrong, f"{len(wrong)} differences that aren't ties"),
            Verdict("acceptance on two ranks is not below DFLASH's", not lower, f"below on {lower}" if lower else "on every set"),
        ),
    )
