"""Stage `retraction`: a mixed load on so small a KV cache that running requests are retracted and taken up again.

A retracted request gives its slots back in the middle of its answer and prefills its text so far later on; with trees, the slots
of rejected nodes must have been given back before. Same leak checks as `load`.
"""

from __future__ import annotations

from dataclasses import replace

from tests.gpu.mixed_load import run_load
from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec, ddtree
from tests.gpu.stage import Found, Options
from tests.gpu.stages.load import BUDGET, judge
from tests.gpu.training.prompts import load_prompts

SECONDS = 45.0
# 40 clients ask for up to 500 + 200 tokens each; the scheduler is told to admit them as if answers were short
TIGHT = ("--max-total-tokens", "16000", "--schedule-conservativeness", "0.05")


def needs(options: Options) -> tuple[ServerSpec, ...]:
    spec = ddtree(options.models, BUDGET)
    return (replace(spec, name="tight", words=(*spec.words, *TIGHT)),)


def run(options: Options, servers: Servers) -> Found:
    """Greedy answers before and after must agree, and the log must tell of retractions."""
    server, sets = servers.running["tight"], load_prompts(options.models / "prompts.json")
    before = [answer.tokens for answer in server.client.generate(sets["seen"][:16], 64)]
    tally = run_load(server.client, [prompt for one in sets.values() for prompt in one], SECONDS, server.alive)
    found = judge(server, before, sets["seen"][:16], [tally])
    count = found.findings["retractions"]
    return replace(found, verdicts=(*found.verdicts, Verdict("requests were retracted", count > 0, f"{count} log lines")))
