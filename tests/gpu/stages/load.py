"""Stage `load` (g): three minutes of mixed load on a small KV cache, then SGLang's own leak checks.

SGLang checks its token and request pools whenever a scheduler falls idle and raises if anything is missing
(scheduler_components/invariant_checker.py, SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE, on by default): a leak kills the server.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

from tests.gpu.client import NoAnswer
from tests.gpu.mixed_load import Tally, run_load
from tests.gpu.results import Verdict
from tests.gpu.server import Server, Servers, ServerSpec, ddtree
from tests.gpu.stage import Found, Options
from tests.gpu.step_times import read_metrics, total
from tests.gpu.training.prompts import load_prompts

BUDGET = 31
# few enough tokens that requests are retracted under the load
CACHE_TOKENS = "40000"
IDLE_S = 5.0
LEAK = re.compile(r"leak detected|Traceback \(most recent call last\)", re.IGNORECASE)
RETRACTED = re.compile("Retract requests")


def needs(options: Options) -> tuple[ServerSpec, ...]:
    spec = ddtree(options.models, BUDGET)
    return (replace(spec, name="loaded", words=(*spec.words, "--max-total-tokens", CACHE_TOKENS)),)


def run(options: Options, servers: Servers) -> Found:
    """Greedy answers before and after must agree; between them the load, in quarters with a pause for the idle check."""
    server, sets = servers.running["loaded"], load_prompts(options.models / "prompts.json")
    prompts = [prompt for one in sets.values() for prompt in one]
    before = [answer.tokens for answer in server.client.generate(sets["seen"][:16], 64)]
    tallies = []
    for _ in range(4):
        tallies.append(run_load(server.client, prompts, options.seconds / 4, server.alive))
        time.sleep(IDLE_S)
    return judge(server, before, sets["seen"][:16], tallies)


def judge(server: Server, before: list[tuple[int, ...]], prompts: list[list[int]], tallies: list[Tally]) -> Found:
    """What is left after a load: `before` are the greedy answers to `prompts` that were given before it."""
    same = False
    try:
        server.client.flush()
        same = [answer.tokens for answer in server.client.generate(prompts, 64)] == before
        server.client.flush()
        time.sleep(IDLE_S)
        metrics = read_metrics(server.client.text("/metrics"))
        fallbacks = total(metrics, "sglang_ddtree_graph_fallbacks_total")
    except NoAnswer as error:
        fallbacks = -1.0
        tallies[-1].fail(str(error))
    log = server.log.read_text(errors="replace")
    errors = [error for tally in tallies for error in tally.errors]
    leaks = LEAK.findall(log)
    findings: dict[str, Any] = {
        "answered": {kind: sum(tally.answered[kind] for tally in tallies) for kind in tallies[0].answered},
        "aborted": sum(tally.aborted for tally in tallies),
        "tokens": sum(tally.tokens for tally in tallies),
        "retractions": len(RETRACTED.findall(log)),
        "errors": errors[:20],
        "graph_fallbacks": fallbacks,
    }
    return Found(
        findings,
        (
            Verdict(
                "the server survives and answers everything", server.alive() and not errors, f"{len(errors)} errors {errors[:2]}"
            ),
            Verdict(
                "SGLang's leak checks are clean", not leaks and server.alive(), f"{len(leaks)} leaks or tracebacks in the log"
            ),
            Verdict("greedy text after the load is as before", same, str(same)),
        ),
    )
