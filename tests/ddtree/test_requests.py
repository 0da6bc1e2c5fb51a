"""Requests that can't be served are answered one by one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sglang_ddtree.runtime.requests import is_penalised, reject

UNSET: dict[str, Any] = {
    **dict.fromkeys(("json_schema", "regex", "ebnf", "structural_tag")),
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
    "repetition_penalty": 1.0,
    "min_new_tokens": 0,
}


def request(parameters: dict[str, Any] | None = None, return_logprob: bool = False, answered: int = 3) -> SimpleNamespace:
    sampling = SimpleNamespace(**{**UNSET, **(parameters or {})})
    return SimpleNamespace(return_logprob=return_logprob, sampling_params=sampling, output_ids=[1] * answered)


def test_served() -> None:
    assert reject(request()) is None


def test_logprobs() -> None:
    answer = reject(request(return_logprob=True))
    assert answer is not None
    assert "logprobs" in answer
    assert "Fix:" in answer


@pytest.mark.parametrize("kind", ["json_schema", "regex", "ebnf", "structural_tag"])
def test_grammars(kind: str) -> None:
    answer = reject(request({kind: "x"}))
    assert answer is not None
    assert "grammar" in answer


@pytest.mark.parametrize(
    ("parameters", "penalised"),
    [
        ({}, False),
        ({"frequency_penalty": 0.5}, True),
        ({"presence_penalty": -0.5}, True),
        ({"repetition_penalty": 1.2}, True),
        ({"min_new_tokens": 4}, True),
        ({"min_new_tokens": 3}, False),
    ],
)
def test_penalties_stop_drafting_for_their_own_request_alone(parameters: dict[str, Any], penalised: bool) -> None:
    assert is_penalised(request(parameters)) is penalised
