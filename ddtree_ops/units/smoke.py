"""Smoke requests: a real generation, judged. `ready` means that an answer came back right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ddtree_ops.ports import HttpRequest, HttpResponse
from ddtree_ops.units.answers import read_answer, short

DEFAULT_MAX_TOKENS = 16
_LARGEST = 2**53  # beyond it not every whole number is a double


@dataclass(frozen=True)
class Canary:
    """One prompt; `expect` is a substring that the answer must hold (case is ignored), None = any sound text."""

    prompt: str
    expect: str | None = None
    max_tokens: int = DEFAULT_MAX_TOKENS


DEFAULT_CANARIES = (Canary("The capital of France is"),)


@dataclass(frozen=True)
class SmokeResult:
    """What one canary got: `problem` is None for a right answer; `seconds` is the latency of the whole request."""

    prompt: str
    text: str
    seconds: float
    tokens: int
    acceptance_length: float | None
    problem: str | None

    @property
    def ok(self) -> bool:
        return self.problem is None


def request(canary: Canary, port: int, timeout: float, bearer: str | None) -> HttpRequest:
    """SGLang's native /generate at temperature 0."""
    body = {
        "text": canary.prompt,
        "sampling_params": {"temperature": 0, "max_new_tokens": canary.max_tokens},
    }
    return HttpRequest(port, "/generate", "POST", body, timeout, bearer)


def judge(canary: Canary, response: HttpResponse) -> SmokeResult:
    """Is this a right answer to the canary? Never raises on a strange body: it becomes the problem."""
    if response.status == 0:
        return _bad(canary, response, response.problem or "the connection was refused or broken off")
    if response.status != 200:
        return _bad(canary, response, f"HTTP {response.status}: {short(response.body)}")
    answer = read_answer(response.body)
    return SmokeResult(
        prompt=canary.prompt,
        text=answer.text,
        seconds=response.seconds,
        tokens=_count(answer.meta.get("completion_tokens")),
        acceptance_length=_number(answer.meta.get("spec_accept_length")),
        problem=answer.problem or _unexpected(canary, answer.text),
    )


def _unexpected(canary: Canary, text: str) -> str | None:
    if canary.expect is None or canary.expect.casefold() in text.casefold():
        return None
    return f"expected {canary.expect!r} in the answer, got {text[:80]!r}"


def _bad(canary: Canary, response: HttpResponse, problem: str) -> SmokeResult:
    return SmokeResult(canary.prompt, "", response.seconds, 0, None, problem)


def _count(value: Any) -> int:
    """0 for what is no count: JSON also has 1e999, NaN and numbers of a thousand digits."""
    number = _number(value)
    return int(number) if number is not None and number >= 0 else 0


def _number(value: Any) -> float | None:
    """A number that any JSON reader can take, or None."""
    fits = type(value) in (int, float) and -_LARGEST <= value <= _LARGEST  # false for NaN, too
    return float(value) if fits else None
