"""What an answer of /generate is worth, in the eyes of the launcher and of the controller alike."""

from __future__ import annotations

import json

import pytest

from ddtree_ops.units.answers import read_answer


def body(text: object, meta: object) -> bytes:
    return json.dumps({"text": text, "meta_info": meta}).encode()


def test_sound_text() -> None:
    answer = read_answer(body(" Paris!", {"finish_reason": {"type": "length"}, "completion_tokens": 2}))
    assert (answer.text, answer.meta["completion_tokens"], answer.problem, answer.garbage) == (" Paris!", 2, None, False)


@pytest.mark.parametrize("text", ["!!!!!!!!", "\ufffd\ufffd\ufffdab", " 00000000000 "])
def test_garbage(text: str) -> None:
    answer = read_answer(body(text, {}))
    assert answer.garbage
    assert "garbage" in str(answer.problem)


@pytest.mark.parametrize(
    ("strange", "problem"),
    [
        (b"", "not an answer"),
        (b"\xff\xfe\xfd", "not an answer"),
        (b"[" * 100_000, "not an answer"),
        (b"[1]", "not an answer"),
        (b'"text"', "not an answer"),
        (body(["Paris"], {}), "not an answer"),
        (body("Paris", [1]), "not an answer"),
        (body("Paris", {"finish_reason": {"type": "abort"}}), "aborted: no reason given"),
        (body("Paris", {"finish_reason": {"type": "abort", "message": ["x"]}}), "aborted: ['x']"),
        (body("Paris", {"finish_reason": "abort"}), "aborted"),
        (body(" \n", {}), "empty"),
    ],
)
def test_never_raises_on_a_strange_body(strange: bytes, problem: str) -> None:
    answer = read_answer(strange)
    assert problem in str(answer.problem)
    assert not answer.garbage
