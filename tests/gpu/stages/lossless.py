"""Stage `lossless` (a): greedy text of DDTREE, and of DFLASH beside it, equals plain decoding, token by token."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from tests.gpu.client import Client
from tests.gpu.differences import Difference, compare_texts
from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec, ddtree, dflash
from tests.gpu.stage import Found, Options
from tests.gpu.training.prompts import load_prompts

NEW_TOKENS = 128
SHOWN = 12


def needs(options: Options) -> tuple[ServerSpec, ...]:
    return ServerSpec("plain"), dflash(options.models), *(ddtree(options.models, budget) for budget in options.budgets)


def run(options: Options, servers: Servers) -> Found:
    """All prompt sets x 128 tokens; after a difference the comparison goes on behind it, so no token is left out."""
    others = [spec.name for spec in needs(options)[1:]]
    findings: dict[str, Any] = {}
    wrong: list[str] = []
    for name, prompts in load_prompts(options.models / "prompts.json").items():
        plain = [answer.tokens for answer in servers.client("plain").generate(prompts, NEW_TOKENS)]
        for other in others:
            found = compare(servers.client("plain"), servers.client(other), prompts, plain)
            findings.setdefault(other, {})[name] = summary(found, plain)
            wrong += [f"{other} {name} {asdict(one)}" for one in found if not one.tie]
    compared = sum(entry["tokens"] for entry in findings[others[-1]].values())
    seen = f"{compared} tokens a server, no difference but ties" if not wrong else "; ".join(wrong[:SHOWN])
    return Found(findings, (Verdict("greedy text equals plain decoding's", not wrong, seen),))


def compare(plain: Client, other: Client, prompts: list[list[int]], texts: list[tuple[int, ...]]) -> list[Difference]:
    """Differences of one server from the plain texts, each judged by the plain server."""
    return compare_texts(
        prompts,
        texts,
        lambda asked, tokens: [answer.tokens for answer in other.generate(asked, tokens)],
        plain.next_choices,
    )


def summary(found: list[Difference], plain: list[tuple[int, ...]]) -> dict[str, Any]:
    ties = [one.gap for one in found if one.tie]
    differing = len({one.prompt for one in found})
    return {
        "prompts": len(plain),
        "tokens": sum(map(len, plain)),
        "same_at_once": len(plain) - differing,
        "ties": len(ties),
        "largest_tie_gap": round(max(ties, default=0.0), 4),
        "not_ties": [asdict(one) | {"gap": one.gap if math.isfinite(one.gap) else None} for one in found if not one.tie][:SHOWN],
    }
