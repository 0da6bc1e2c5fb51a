"""Smoke requests: a real generation, judged. `ready` means that an answer came back right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ddtree_ops.ports import HttpRequest, HttpResponse

DEFAULT_MAX_TOKENS = 16


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
        return _bad(canary, response, "the connection was refused or broken off")
    if response.status != 200:
        return _bad(canary, response, f"HTTP {response.status}: {_short(response.body)}")
    try:
        answer = json.loads(response.body)
        text, meta = answer["text"], answer.get("meta_info") or {}
    except (ValueError, KeyError, TypeError):
        return _bad(canary, response, f"not an answer of /generate: {_short(response.body)}")
    return SmokeResult(
        prompt=canary.prompt,
        text=str(text),
        seconds=response.seconds,
        tokens=int(meta.get("completion_tokens") or 0),
        acceptance_length=_number(meta.get("spec_accept_length")),
        problem=_problem(canary, str(text), meta),
    )


def _problem(canary: Canary, text: str, meta: dict[str, Any]) -> str | None:
    reason = meta.get("finish_reason")
    kind = reason.get("type") if isinstance(reason, dict) else reason
    if kind == "abort":
        return f"the request was aborted: {reason}"
    if not text.strip():
        return "the answer is empty"
    if garbage := _garbage(text):
        return garbage
    if canary.expect is not None and canary.expect.casefold() not in text.casefold():
        return f"expected {canary.expect!r} in the answer, got {text[:80]!r}"
    return None


def _garbage(text: str) -> str | None:
    """NaN in the logits shows as one token for ever or as replacement characters, with HTTP 200 (vllm#42426)."""
    body = text.strip()
    if len(body) >= 8 and len(set(body)) == 1:
        return f"garbage: only {body[0]!r} over and over"
    if body.count("\ufffd") * 2 > len(body):
        return "garbage: mostly replacement characters"
    return None


def _bad(canary: Canary, response: HttpResponse, problem: str) -> SmokeResult:
    return SmokeResult(canary.prompt, "", response.seconds, 0, None, problem)


def _short(body: bytes) -> str:
    return body[:200].decode("utf-8", "replace").replace("\n", " ")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
