"""Judging answers: right, empty, garbage, refused, strange."""

from __future__ import annotations

import json

import pytest

from ddtree_ops.ports import HttpResponse
from ddtree_ops.units.smoke import Canary, judge, request

PARIS = Canary("The capital of France is", expect="paris")


def answer(text: str, **meta: object) -> HttpResponse:
    body = {"text": text, "meta_info": {"completion_tokens": 4, "finish_reason": {"type": "length"}, **meta}}
    return HttpResponse(200, json.dumps(body).encode(), 0.2)


def test_a_right_answer() -> None:
    result = judge(PARIS, answer(" Paris.", spec_accept_length=3.5))
    assert result.ok
    assert (result.tokens, result.acceptance_length) == (4, 3.5)


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        (answer(" London."), "expected 'paris'"),
        (answer("  \n "), "empty"),
        (answer("!!!!!!!!!!"), "garbage"),
        (answer("\ufffd\ufffd\ufffdab"), "garbage"),
        (answer(" Par", finish_reason={"type": "abort", "message": "x"}), "aborted"),
        (HttpResponse(0, b"", 0.0), "refused"),
        (HttpResponse(500, b"oh\nno", 0.1), "HTTP 500: oh no"),
        (HttpResponse(200, b"<html>", 0.1), "not an answer"),
        (HttpResponse(200, b"[1]", 0.1), "not an answer"),
        (HttpResponse(200, b'{"text": null, "meta_info": null}', 0.1), "not an answer"),
        (HttpResponse(200, b'{"text": "Rome", "meta_info": null}', 0.1), "expected 'paris'"),
    ],
)
def test_a_wrong_answer_says_what_is_wrong(response: HttpResponse, problem: str) -> None:
    assert problem in str(judge(PARIS, response).problem)


def test_the_request_is_greedy_and_hides_the_key() -> None:
    made = request(PARIS, 30000, 5.0, "s3cret")
    assert made.body is not None
    assert made.body["sampling_params"]["temperature"] == 0
    assert "s3cret" not in repr(made)
