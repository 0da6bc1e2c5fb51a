"""Requests that can't be served are answered one by one."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from sglang_ddtree.runtime.requests import install, is_penalised, reject

UNSET: dict[str, Any] = {
    **dict.fromkeys(("json_schema", "regex", "ebnf", "structural_tag")),
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
    "repetition_penalty": 1.0,
    "min_new_tokens": 0,
}


def request(parameters: dict[str, Any] | None = None, answered: int = 3, **about: Any) -> SimpleNamespace:
    sampling = SimpleNamespace(**{**UNSET, **(parameters or {})})
    plain = {"return_logprob": False, "custom_logit_processor": None, "output_ids": [1] * answered}
    return SimpleNamespace(sampling_params=sampling, **{**plain, **about})


def test_served() -> None:
    assert reject(request()) is None


def test_logprobs() -> None:
    answer = reject(request(return_logprob=True))
    assert answer is not None
    assert "logprobs" in answer
    assert "Fix:" in answer


def test_custom_logit_processors() -> None:
    answer = reject(request(custom_logit_processor="{}"))
    assert answer is not None
    assert "custom logit processors" in answer


def test_a_process_without_the_scheduler_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sglang.srt.managers.scheduler", raising=False)
    with pytest.raises(RuntimeError, match="isn't loaded"):
        install()


def test_the_scheduler_asks_us(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = SimpleNamespace(validate_dflash_request=None)
    monkeypatch.setitem(sys.modules, "sglang.srt.managers.scheduler", scheduler)
    install()
    assert scheduler.validate_dflash_request is reject


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
