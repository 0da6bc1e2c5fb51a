"""Stored reports read back: the same again, and a clear word on what is wrong with one."""

from __future__ import annotations

import copy
import json
from enum import EnumMeta
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from ddtree_ops.report import stored
from ddtree_ops.report.failure import FailureReport, schema
from ddtree_ops.report.from_data import InvalidReport
from ddtree_ops.report.root_line import root_cursor
from tests.report.reports import full, hostile, of
from tests.triage.journals import NAMES


@pytest.mark.parametrize("report", [full(), hostile(), *map(of, NAMES)])
def test_what_was_stored_comes_back(report: FailureReport) -> None:
    text = report.to_json()
    again = FailureReport.from_data(json.loads(text))
    assert again.to_json() == text


def test_a_report_read_back_has_every_form() -> None:
    again = FailureReport.from_data(full().to_data())
    assert again.root is not None
    assert again.root.fingerprint == "0123456789abcdef"
    assert root_cursor(again.failures) == root_cursor(full().failures) == "s=1;i=2"
    for text in (again.to_html(), again.to_markdown(), again.to_terminal(colour=False)):
        assert "The scheduler stood still" in text


WRONG: list[tuple[list[str | int], Any, str]] = [
    (["schema"], "other/v1", "a.json: schema: "),
    (["verdict"], "bad", "a.json: verdict: "),
    (["failures", 0, "kind"], "nonsense", "a.json: failures[0].kind: "),
    (["failures", 0, "count"], "3", "a.json: failures[0].count: "),
    (["failures", 0, "count"], True, "a.json: failures[0].count: "),
    (["failures", 0, "exceptions", 1, "frames", 0, "line"], "x", "a.json: failures[0].exceptions[1].frames[0].line: "),
    (["failures", 0, "first_seen"], "yesterday", "a.json: failures[0].first_seen: "),
    (["failures", 0, "extra"], 1, "a.json: failures[0].extra: "),
    (["failures"], [], "a.json: failures: "),
    (["events"], None, "a.json: events: "),
]


@pytest.mark.parametrize(("path", "value", "words"), WRONG)
def test_the_first_wrong_field_is_named(path: list[str | int], value: object, words: str) -> None:
    data = copy.deepcopy(full().to_data())
    place: Any = data
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    with pytest.raises(InvalidReport) as caught:
        FailureReport.from_data(data, "a.json")
    assert caught.value.message.startswith(words)


@pytest.mark.parametrize("data", [{}, {"schema": 1}, [], None, "x"])
def test_what_is_no_report(data: Any) -> None:
    with pytest.raises(InvalidReport):
        FailureReport.from_data(data)


def test_a_parent_that_is_nobody_or_itself_breaks_no_form() -> None:
    data = full().to_data()
    for parent in (0, 1, 2, 99, -1):
        for exception in data["failures"][0]["exceptions"]:
            exception["parent"] = parent
        report = FailureReport.from_data(data)
        assert report.to_html()
        assert report.to_markdown()
        assert report.to_terminal(colour=False)


def _same(model: type[BaseModel], described: dict[str, Any]) -> None:
    """The model has the properties, the required ones and the words of the schema's object."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    assert set(fields) == set(described["properties"]), model
    assert {name for name, field in fields.items() if field.is_required()} == set(described.get("required", ())), model
    for name, field in fields.items():
        wanted = described["properties"][name]
        enums = [one for one in (field.annotation, *get_args(field.annotation)) if isinstance(one, EnumMeta)]
        if "enum" in wanted:
            assert {item.value for item in list[Any](enums[0])} == set(wanted["enum"]) - {None}, name


def test_models_and_schema_say_the_same() -> None:
    known = schema()
    failure = known["properties"]["failures"]["items"]
    _same(stored.StoredReport, known)
    _same(stored.StoredFailure, failure)
    _same(stored.StoredFrame, known["$defs"]["frames"]["items"])
    _same(stored.StoredEvent, known["properties"]["events"]["items"])
    parts: dict[str, type[BaseModel]] = {
        "exceptions": stored.StoredException,
        "processes": stored.StoredProcess,
        "numbers": stored.StoredNumber,
        "evidence": stored.StoredEvidence,
        "devices": stored.StoredDevice,
        "threads": stored.StoredThread,
    }
    for name, model in parts.items():
        _same(model, failure["properties"][name]["items"])
