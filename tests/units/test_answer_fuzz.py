"""Whatever /generate answers, judging it and showing the judgement never raises."""

from __future__ import annotations

import dataclasses
import json
import random

import click
import pytest

from ddtree_ops.cli.show import show_json
from ddtree_ops.ports import HttpResponse
from ddtree_ops.report.safe_text import one_line
from ddtree_ops.units.answers import read_answer
from ddtree_ops.units.smoke import Canary, SmokeResult, judge

CANARY = Canary("The capital of France is", expect="Paris")
ATOMS = (
    *("null", "true", "false", "0", "-1", "4", "3.5", "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "1e308"),
    *("9" * 400, "9" * 5000, "-" + "9" * 400, '""', '"abort"', '"many"', '" Paris"', '"\\ud800"', '"Paris \\udfff\\u0000"'),
    *('"\\ud83d\\ude00"', '"!!!!!!!!"', '"\\u001b[2J\\u202e"', "{}", "[]", "[1]", "[" * 900 + "]" * 900, "[" * 100_000),
)
KEYS = ("text", "meta_info", "finish_reason", "completion_tokens", "spec_accept_length", "type", "message", "\\ud800", "x")
STRANGE = (b"", b"\xff\xfe\x00", b"\x00", b"[" * 100_000, b'{"text":' * 100_000, "\ufeff{}".encode("utf-16"), b'"\xed\xa0\x80"')


def value(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if depth == 0 or kind < 0.5:
        return chance.choice(ATOMS)
    if kind < 0.6:
        return "[" + ",".join(value(chance, depth - 1) for _ in range(chance.randrange(3))) + "]"
    return "{" + ",".join(f'"{chance.choice(KEYS)}":{value(chance, depth - 1)}' for _ in range(chance.randrange(5))) + "}"


def answer(chance: random.Random) -> str:
    """Mostly of the shape of an answer, with anything at any place."""
    if chance.random() < 0.2:
        return value(chance, 3)
    text = chance.choice(('" Paris"', '"\\ud800"', '"Paris \\ud800"', value(chance, 1)))
    reason = chance.choice((value(chance, 2), f'{{"type":"abort","message":{value(chance, 2)}}}'))
    counts = f'"completion_tokens":{value(chance, 1)},"spec_accept_length":{value(chance, 1)}'
    meta = chance.choice((value(chance, 2), f'{{"finish_reason":{reason},{counts}}}'))
    return f'{{"text":{text},"meta_info":{meta}}}'


def check(body: bytes, capsysbinary: pytest.CaptureFixture[bytes]) -> SmokeResult:
    read_answer(body)
    result = judge(CANARY, HttpResponse(200, body, 0.1))
    show_json(dataclasses.asdict(result))
    shown = capsysbinary.readouterr().out
    assert shown.isascii()
    assert json.loads(shown, parse_constant=pytest.fail)["tokens"] == result.tokens >= 0
    click.echo(f"{one_line(result.problem or result.text)} {result.prompt!r}")
    capsysbinary.readouterr()
    result.text.encode()
    (result.problem or "").encode()
    return result


@pytest.mark.parametrize("seed", range(8))
def test_any_json(seed: int, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same answers each time
    right = [check(answer(chance).encode(), capsysbinary).ok for _ in range(150)]
    assert any(right) or seed  # the shape is one that can be right


@pytest.mark.parametrize("number", range(len(STRANGE)))
def test_no_json_at_all(number: int, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert not check(STRANGE[number], capsysbinary).ok


@pytest.mark.parametrize("status", [0, 200, 500, -1, 10**30])
def test_any_status(status: int) -> None:
    assert judge(CANARY, HttpResponse(status, b"\xff\xd8\x00{", 0.1)).problem


@pytest.mark.parametrize(
    ("meta", "tokens", "acceptance"),
    [
        ('{"completion_tokens": "many", "spec_accept_length": "long"}', 0, None),
        ('{"completion_tokens": 1e999, "spec_accept_length": -1e999}', 0, None),
        ('{"completion_tokens": NaN, "spec_accept_length": NaN}', 0, None),
        (f'{{"completion_tokens": {"9" * 400}, "spec_accept_length": {"9" * 400}}}', 0, None),
        ('{"completion_tokens": true, "spec_accept_length": false}', 0, None),
        ('{"completion_tokens": -3, "spec_accept_length": 3}', 0, 3.0),
        ('{"completion_tokens": 4.0, "spec_accept_length": 2.5}', 4, 2.5),
    ],
)
def test_strange_counts_are_left_out_of_a_right_answer(meta: str, tokens: int, acceptance: float | None) -> None:
    result = judge(CANARY, HttpResponse(200, f'{{"text": " Paris", "meta_info": {meta}}}'.encode(), 0.1))
    assert (result.ok, result.tokens, result.acceptance_length) == (True, tokens, acceptance)


def test_lone_surrogates_are_replacement_characters() -> None:
    assert read_answer(b'{"text": "Paris \\ud800", "meta_info": {}}').text == "Paris \ufffd"
    assert read_answer(b'{"text": "\\ud800\\udbff", "meta_info": {}}').garbage
    assert read_answer(b'{"text": "\\ud83d\\ude00 yes", "meta_info": {}}').text == "\U0001f600 yes"


def test_a_list_for_meta_info_is_no_answer() -> None:
    assert "not an answer" in str(read_answer(b'{"text": "Paris", "meta_info": [1]}').problem)
