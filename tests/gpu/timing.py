"""Decoding speed of one server at one batch size: two requests of different length, so that prompts and overhead cancel out."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.gpu.client import Answer, Client

SHORT, LONG = 32, 224


@dataclass(frozen=True, slots=True)
class Speed:
    """`tokens_per_s` over the whole batch, `step_ms` the time of one decode step (a verify step with speculation)."""

    tokens_per_s: float
    step_ms: float
    acceptance: float


def measure(client: Client, prompts: Sequence[Sequence[int]]) -> Speed:
    """Decode 32 and then 224 tokens for every prompt, as one batch; the difference is pure decoding.

    A batch lasts as long as its slowest request, so its steps are those of the request with most verify steps.
    """
    short, brief = _timed(client, prompts, SHORT)
    long, full = _timed(client, prompts, LONG)
    seconds = max(full - brief, 1e-9)
    tokens = len(prompts) * (LONG - SHORT)
    return Speed(
        tokens / seconds,
        1000 * seconds / max(1, _steps(long) - _steps(short)),
        tokens / max(1, _all_steps(long) - _all_steps(short)),
    )


def median(speeds: Sequence[Speed]) -> Speed:
    """Each figure's median over repetitions."""
    return Speed(
        round(statistics.median(speed.tokens_per_s for speed in speeds), 1),
        round(statistics.median(speed.step_ms for speed in speeds), 3),
        round(statistics.median(speed.acceptance for speed in speeds), 3),
    )


def _timed(client: Client, prompts: Sequence[Sequence[int]], tokens: int) -> tuple[list[Answer], float]:
    start = time.perf_counter()
    answers = client.generate(prompts, tokens)
    return answers, time.perf_counter() - start


def _steps(answers: Sequence[Answer]) -> int:
    return max(answer.verified or len(answer.tokens) for answer in answers)


def _all_steps(answers: Sequence[Answer]) -> int:
    return sum(answer.verified or len(answer.tokens) for answer in answers)
