"""The report as data and as JSON; what all forms have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import jsonschema
import pytest

from ddtree_ops.report.failure import FailureReport, schema
from ddtree_ops.report.root_line import root_cursor
from ddtree_ops.report.safe_text import cut, one_line, rfc3339
from tests.report.reports import full, hostile, of, of_case
from tests.triage.journals import NAMES, recorded

FORMS: dict[str, Callable[[FailureReport], str]] = {
    "json": lambda report: report.to_json(),
    "markdown": lambda report: report.to_markdown(),
    "html": lambda report: report.to_html(),
    "text": lambda report: report.to_terminal(colour=False),
}


def long_message() -> FailureReport:
    report = full()
    exception = replace(report.failures[0].exceptions[0], message="x < y & z " * 100_000)
    return replace(report, failures=(replace(report.failures[0], exceptions=(exception,)),))


def test_json_is_valid_ascii_without_control_characters() -> None:
    text = hostile().to_json()
    assert text.isascii()
    jsonschema.validate(json.loads(text), schema())
    assert re.findall(r"\\u00[01][0-9a-f]|\\u202e|\\ud800", text) == []


@pytest.mark.parametrize("report", [full(), hostile(), long_message(), *map(of, NAMES)])
def test_every_report_is_as_the_schema_has_it(report: FailureReport) -> None:
    jsonschema.Draft202012Validator(schema()).validate(report.to_data())


def test_data_has_every_property_that_the_schema_knows() -> None:
    data = full().to_data()
    known = schema()
    failure = known["properties"]["failures"]["items"]["properties"]
    frame = known["$defs"]["frames"]["items"]["properties"]
    got = data["failures"][0]
    assert set(data) == set(known["properties"])
    assert set(got) == set(failure)
    for part in ("exceptions", "numbers", "evidence", "devices", "threads", "processes"):
        assert {key for item in got[part] for key in item} == set(failure[part]["items"]["properties"]), part
    assert set(got["exceptions"][0]["frames"][0]) == set(frame)


def test_what_is_in_the_data() -> None:
    root = full().to_data()["failures"][0]
    assert root["exceptions"][1]["notes"] == ["a note", "another\nof two lines"]
    assert [item["language"] for item in root["exceptions"]] == ["python", "python", "c++"]
    assert root["exceptions"][0]["frames"][1]["source"][1] == "> 3110 | result = forward("
    assert root["threads"][2] | {"frames": []} == {"id": "0x3", "name": "MainThread", "current": True, "frames": []}
    assert root["devices"][0] == {"gpu": 3, "pci": "0000:a1:00.0", "suspect": True}
    assert [item["text"] for item in root["evidence"]] == ["what came before", "ExceptionGroup: two (2 sub-exceptions)"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_twice(form: str) -> None:
    made = FORMS[form]
    assert made(full()) == made(full())


@pytest.mark.parametrize("form", ["markdown", "html", "text"])
def test_a_message_of_a_megabyte_is_cut_in_every_form_but_json(form: str) -> None:
    text = FORMS[form](long_message())
    assert len(text) < 250_000
    assert "characters" in text


def test_a_message_of_a_megabyte_is_whole_in_json() -> None:
    message = long_message().to_data()["failures"][0]["exceptions"][0]["message"]
    assert len(message) == 1_000_000


def test_no_failure_has_no_root() -> None:
    assert of("dflash_ok").root is None
    assert root_cursor(of("dflash_ok").failures) is None


def test_the_root_line_is_where_the_ending_exception_says_itself() -> None:
    report = of("tp2_rank1_raise")
    (entry,) = [item for item in recorded("tp2_rank1_raise") if item.cursor == root_cursor(report.failures)]
    assert entry.message == "RuntimeError: draft state lost between steps"


def test_times() -> None:
    assert rfc3339(1_795_977_454_677_863) == "2026-11-29T18:37:34.677863Z"
    assert rfc3339(None) is None
    assert rfc3339(10**30) is None


def test_one_line() -> None:
    assert one_line("a\n\tb\u200bc\x1b[31md\u00ad") == "a bcd"
    assert one_line("x" * 30, 10) == "x" * 9 + "…"
    assert cut("ab", 1) == "…"


def test_requests_are_told_where_nothing_else_is() -> None:
    report = of_case("modelled/vllm-6689")
    assert report.root is None
    for form in FORMS.values():
        assert "create_chat_completion" in form(report)
