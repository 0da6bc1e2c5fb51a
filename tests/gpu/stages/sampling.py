"""Stage `sampling` (f): at temperature 1, DDTREE's tokens have plain sampling's distribution, by a chi-square test."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.gpu.chi_square import compare, holm
from tests.gpu.client import Client
from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec, ddtree
from tests.gpu.stage import Found, Options
from tests.gpu.training.prompts import load_prompts

BUDGET = 31
PROMPTS = 4
SAMPLES = 768
AT_ONCE = 192
TOKENS = 16
LEVEL = 0.01
BUCKETS = 32


def needs(options: Options) -> tuple[ServerSpec, ...]:
    return ServerSpec("plain"), ddtree(options.models, BUDGET)


def run(options: Options, servers: Servers) -> Found:
    """Prompts the target is unsure about; 768 samples each from both servers.

    Tests: the token at each of positions 1 to 15 (position 0 comes from the prompt's pass, without a tree), and pairs of
    neighbours in 32 buckets, which sees a bond between tokens that single positions don't. Holm's correction over all.
    As a control, two halves of the plain samples are compared in the same way.
    """
    tests: list[dict[str, Any]] = []
    for number, prompt in enumerate(load_prompts(options.models / "prompts.json")["unseen"][:PROMPTS]):
        with ThreadPoolExecutor() as pool:
            plain, tree = pool.map(_draw, [servers.client(spec.name) for spec in needs(options)], [prompt] * 2)
        tests += [{"prompt": number, **test} for test in _tests(plain, tree)]
        control = _tests(plain[: SAMPLES // 2], plain[SAMPLES // 2 :])
        tests += [{"prompt": number, "control": True, **test} for test in control]
    chances = [test["chance"] for test in tests if "control" not in test]
    controls = [test["chance"] for test in tests if "control" in test]
    right = holm(chances, LEVEL) if holm(controls, LEVEL) else None
    seen = f"{len(chances)} tests, smallest chance {min(chances):.2g} (control {min(controls):.2g})"
    return Found(
        {"tests": tests, "samples": SAMPLES},
        (Verdict("sampling at temperature 1 has plain sampling's distribution", right, seen),),
    )


def _draw(client: Client, prompt: Sequence[int]) -> list[tuple[int, ...]]:
    taken: list[tuple[int, ...]] = []
    while len(taken) < SAMPLES:
        taken += [answer.tokens for answer in client.generate([prompt] * AT_ONCE, TOKENS, temperature=1.0)]
    return taken[:SAMPLES]


def _tests(left: list[tuple[int, ...]], right: list[tuple[int, ...]]) -> list[dict[str, Any]]:
    found = []
    for position in range(1, TOKENS):
        for kind, first, second in (
            ("token", [one[position] for one in left], [one[position] for one in right]),
            ("pair", [_bucket(one, position) for one in left], [_bucket(one, position) for one in right]),
        ):
            result = compare(first, second)
            found.append({"kind": kind, "position": position, "freedom": result.freedom, "chance": round(result.chance, 6)})
    return found


def _bucket(tokens: Sequence[int], position: int) -> int:
    """A pair of neighbours in one of 32 buckets (a multiplicative mix, the same in every process)."""
    return (tokens[position - 1] * 2654435761 + tokens[position] * 40503) % (1 << 32) >> 27
