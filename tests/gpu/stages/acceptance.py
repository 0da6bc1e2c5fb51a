"""Stage `acceptance` (b): tokens a verify step of DFLASH, and of DDTREE for each budget, on each prompt set."""

from __future__ import annotations

from tests.gpu.client import acceptance
from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec, ddtree, dflash
from tests.gpu.stage import Found, Options
from tests.gpu.training.prompts import load_prompts

NEW_TOKENS = 192
JUDGED = "ddtree-31"


def needs(options: Options) -> tuple[ServerSpec, ...]:
    return dflash(options.models), *(ddtree(options.models, budget) for budget in options.budgets)


def run(options: Options, servers: Servers) -> Found:
    """Greedy, 64 prompts a set, 192 new tokens each."""
    lengths: dict[str, dict[str, float]] = {}
    for spec in needs(options):
        for name, prompts in load_prompts(options.models / "prompts.json").items():
            answers = servers.client(spec.name).generate(prompts, NEW_TOKENS)
            lengths.setdefault(spec.name, {})[name] = round(acceptance(answers), 3)
    tree, chain = lengths.get(JUDGED), lengths["dflash"]
    right = None if tree is None else all(tree[name] >= chain[name] for name in chain)
    return Found(
        {"acceptance": lengths},
        (Verdict("acceptance at budget 31 is not below DFLASH's on any set", right, f"{tree} against {chain}"),),
    )
