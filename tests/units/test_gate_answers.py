"""Reading one answer, and comparing it with the recorded one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddtree_ops.ports import HttpResponse
from ddtree_ops.units.gate_answers import GateAnswer, GatePrompt, RecordedAnswer, Recording, compare, read, steady

PROMPT = GatePrompt("p", "Once")
IDS = tuple(range(40))


def response(text: str = " upon a time", **more: object) -> HttpResponse:
    return HttpResponse(
        200, json.dumps({"text": text, "meta_info": {"completion_tokens": 4, "spec_verify_ct": 2}, **more}).encode(), 0.1
    )


def answer(ids: tuple[int, ...] | None = IDS, text: str = "abcdefgh") -> GateAnswer:
    return GateAnswer("p", text, ids, 40, 10)


def recorded(ids: tuple[int, ...] | None = IDS, text: str = "abcdefgh", known: int = 40) -> Recording:
    return Recording(None, None, (RecordedAnswer("p", text, ids, known),))


def test_what_an_answer_tells() -> None:
    found = read(PROMPT, response(output_ids=[5, 6, 7, 8]))
    assert found == GateAnswer("p", " upon a time", (5, 6, 7, 8), 4, 2)


def test_empty_is_an_answer_and_garbage_is_none() -> None:
    assert read(PROMPT, response("")).problem is None
    assert "garbage" in str(read(PROMPT, response("!" * 20)).problem)
    aborted = response("", meta_info={"completion_tokens": 0, "finish_reason": {"type": "abort", "message": "full"}})
    assert "aborted" in str(read(PROMPT, aborted).problem)


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (HttpResponse(0, b"", 0.0), "broken off"),
        (HttpResponse(500, b"oh", 0.0), "HTTP 500: oh"),
        (HttpResponse(200, b"[[[", 0.0), "not an answer"),
        (HttpResponse(200, b'{"text": "a"}', 0.0), "how many tokens"),
        (response(meta_info={"completion_tokens": True}), "how many tokens"),
        (response(meta_info={"completion_tokens": 10**400}), "how many tokens"),
    ],
)
def test_what_is_no_answer(got: HttpResponse, words: str) -> None:
    found = read(PROMPT, got)
    assert words in str(found.problem)
    assert found.lost is (got.status == 0)


def test_only_the_beginning_counts() -> None:
    late = answer((*IDS[:35], 99, *IDS[36:]))
    assert compare(recorded(), [late], 32).equal == 1
    assert compare(recorded(), [late], 36).equal == 0
    assert compare(recorded(known=35), [late], 40).equal == 1  # the recording itself wasn't steady there


def test_an_end_must_come_at_the_same_place() -> None:
    short = replace(answer(), token_ids=IDS[:10])
    assert compare(recorded(), [short], 32).equal == 0
    assert compare(recorded(IDS[:10], known=10), [answer()], 32).equal == 0
    assert compare(recorded(IDS[:10], known=10), [short], 32).equal == 1
    assert compare(recorded((), "", 0), [replace(answer((), ""), tokens=0)], 32).equal == 1


def test_without_ids_the_text_counts() -> None:
    assert compare(recorded(None, "abcdefgh", 8), [answer()], 32).equal == 1
    found = compare(recorded(None, "abcdefgh", 8), [answer(text="abcdXfgh")], 32)
    assert found.differences == ("p: differs at character 5: recorded 'abcdefgh', now 'abcdXfgh'",)


def test_unsteady_recordings_are_left_out_and_counted() -> None:
    found = compare(recorded(known=2), [answer()], 32)
    assert (found.compared, found.unstable) == (0, 1)
    assert steady(answer(), answer((0, 1, 9))) == 2
    assert steady(answer(), answer()) == 40
    assert steady(answer(None, "abcd"), answer(IDS, "abX")) == 2


@given(st.binary(max_size=200))
def test_no_body_makes_it_raise(body: bytes) -> None:
    read(PROMPT, HttpResponse(200, body, 0.0))
    read(PROMPT, HttpResponse(200, b'{"text": "a", "output_ids": ' + body + b"}", 0.0))
