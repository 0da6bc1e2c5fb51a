"""Greedy answers to the gate's prompts: what one of them tells, and how they compare with recorded ones.

Two sound servers may part where the two best tokens are all but equal: other kernels and other widths round differently. So a
recording asks every prompt twice (the second time its prefix is cached, which is another computation) and keeps how many tokens
were the same: only those are compared, and not every prompt must agree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ddtree_ops.ports import HttpRequest, HttpResponse
from ddtree_ops.units.answers import Answer, read_answer, short

LEAST_STEADY = 4  # a recorded answer that is steady for fewer tokens isn't compared
_SHOWN = 60
_MOST_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class GatePrompt:
    """One prompt of the set; its name is what reports call it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """One answer. `token_ids` and `verify_steps` are None where the server doesn't tell; `lost`: the connection broke off."""

    prompt: str
    text: str
    token_ids: tuple[int, ...] | None
    tokens: int
    verify_steps: int | None
    problem: str | None = None
    lost: bool = False


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """An answer as it was recorded; `steady` is the number of tokens (or characters, without ids) that came twice."""

    prompt: str
    text: str
    token_ids: tuple[int, ...] | None
    steady: int


@dataclass(frozen=True, slots=True)
class Recording:
    """What a server answered once. `acceptance_length` is None for a server that doesn't speculate."""

    algorithm: str | None
    acceptance_length: float | None
    answers: tuple[RecordedAnswer, ...]


@dataclass(frozen=True, slots=True)
class OwnWork:
    """What our own requests cost: tokens from decode steps, and verify steps where every answer tells them."""

    decoded: int
    steps: int | None

    @property
    def acceptance_length(self) -> float | None:
        """Tokens per verify step, bonus included. The first token of an answer comes from its prompt's own pass."""
        return self.decoded / self.steps if self.steps else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`differences` has a line per prompt that differs."""

    equal: int
    compared: int
    unstable: int
    differences: tuple[str, ...]


def request(prompt: GatePrompt, max_tokens: int, port: int, timeout: float, bearer: str | None) -> HttpRequest:
    """SGLang's native /generate, greedily."""
    body = {"text": prompt.text, "sampling_params": {"temperature": 0, "max_new_tokens": max_tokens}}
    return HttpRequest(port, "/generate", "POST", body, timeout, bearer)


def read(prompt: GatePrompt, response: HttpResponse) -> GateAnswer:
    """Judge and read one answer; never raises on a strange one. An empty answer is an answer: greedy text may end at once."""
    if response.status == 0:
        why = response.problem or "the connection was refused or broken off"
        return failed(prompt, why, lost=response.problem is None)
    if response.status != 200:
        return failed(prompt, f"HTTP {response.status}: {short(response.body)}")
    answer = read_answer(response.body)
    tokens = _count(answer.meta.get("completion_tokens"))
    problem = None if _is_only_empty(answer) else answer.problem
    if problem is None and tokens is None:
        problem = "the answer doesn't say how many tokens it has"
    steps = _count(answer.meta.get("spec_verify_ct"))
    return GateAnswer(prompt.name, answer.text, _token_ids(response.body), tokens or 0, steps, problem)


def failed(prompt: GatePrompt, problem: str, *, lost: bool = False) -> GateAnswer:
    """A request that got no answer."""
    return GateAnswer(prompt.name, "", None, 0, None, problem, lost)


def own_work(answers: Sequence[GateAnswer]) -> OwnWork:
    """Over all answers. Steps are unknown as soon as one answer with decoded tokens doesn't tell its own."""
    decoding = [answer for answer in answers if answer.tokens > 1]
    steps = [answer.verify_steps for answer in decoding if answer.verify_steps]
    known = len(steps) == len(decoding) and bool(steps)
    return OwnWork(sum(answer.tokens - 1 for answer in decoding), sum(steps) if known else None)


def compare(recording: Recording, answers: Sequence[GateAnswer], prefix_tokens: int) -> Comparison:
    """The beginnings of answers against the recorded ones, by token ids where both have them, else by text."""
    recorded = {answer.prompt: answer for answer in recording.answers}
    equal = compared = unstable = 0
    differences = []
    for answer in answers:
        was = recorded.get(answer.prompt)
        if was is None or answer.problem:
            continue
        if was.steady < min(LEAST_STEADY, len(was.token_ids or was.text)):
            unstable += 1
            continue
        compared += 1
        difference = _difference(was, answer, prefix_tokens)
        equal += difference is None
        if difference is not None:
            differences.append(difference)
    return Comparison(equal, compared, unstable, tuple(differences))


def steady(first: GateAnswer, second: GateAnswer) -> int:
    """How far two answers to one prompt are the same; all of it if they are equal."""
    one, two = _symbols(first.token_ids, first.text, second.token_ids, second.text)
    parting = _parting(one, two)
    return len(one) if parting is None else parting


def _difference(was: RecordedAnswer, now: GateAnswer, prefix_tokens: int) -> str | None:
    one, two = _symbols(was.token_ids, was.text, now.token_ids, now.text)
    by_ids = was.token_ids is not None and now.token_ids is not None
    # An answer that was the same twice to its very end must end there again.
    whole = was.steady >= len(one) < prefix_tokens
    length = max(len(one), len(two)) if whole else min(prefix_tokens if by_ids else len(one), max(was.steady, 1))
    parting = _parting(one[:length], two[:length])
    if parting is None:
        return None
    unit = "token" if by_ids else "character"
    return f"{was.prompt}: differs at {unit} {parting + 1}: recorded {_shown(was.text)}, now {_shown(now.text)}"


def _symbols(
    ids: tuple[int, ...] | None, text: str, other_ids: tuple[int, ...] | None, other_text: str
) -> tuple[Sequence[object], Sequence[object]]:
    if ids is None or other_ids is None:
        return text, other_text
    return ids, other_ids


def _parting(one: Sequence[object], two: Sequence[object]) -> int | None:
    """Where two sequences part; None if they are the same."""
    for place, (left, right) in enumerate(zip(one, two, strict=False)):
        if left != right:
            return place
    return None if len(one) == len(two) else min(len(one), len(two))


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "...")


def _is_only_empty(answer: Answer) -> bool:
    reason = answer.meta.get("finish_reason")
    aborted = isinstance(reason, Mapping) and reason.get("type") == "abort"
    return bool(answer.meta) and not answer.text.strip() and not answer.garbage and not aborted and reason != "abort"


def _token_ids(body: bytes) -> tuple[int, ...] | None:
    """SGLang's `output_ids`, or None where they are missing or no list of whole numbers."""
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    ids = data.get("output_ids") if isinstance(data, dict) else None
    if not isinstance(ids, list) or not all(type(one) is int for one in ids):
        return None
    return tuple(ids)


def _count(value: object) -> int | None:
    """A whole number that can be a count of tokens, or None."""
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None
