"""Every golden case: the report says of its log what `expected.json` says (tests/cases/README.md)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.report.failure import schema
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.numbers import facts_from_server_info
from tests.triage.sources import with_sources

ROOT = Path(__file__).parent.parent / "cases"


def _name(path: Path) -> str:
    return str(path.parent.relative_to(ROOT))


CASES = sorted(
    str(path.parent.relative_to(ROOT)) for path in ROOT.glob("*/*/expected.json") if path.parent.parent.name != "recorded"
)
CHECKER = jsonschema.Draft202012Validator(schema())
_DIRECT = ("kind", "role", "phase", "count", "confidence", "devices")


@cache
def expected(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / name / "expected.json").read_text("utf-8"))
    return loaded


@cache
def data(name: str) -> dict[str, Any]:
    """The report of a case, as the schema's object."""
    (log,) = (path for path in (ROOT / name).iterdir() if path.name.startswith(("log.", "journal.")))
    told = ROOT / name / "server_info.json"
    facts = facts_from_server_info(json.loads(told.read_bytes())) if told.exists() else None
    report = triage_bytes([log.read_bytes()], facts=facts, only_unit=expected(name).get("unit"))
    if "sources" in expected(name):
        report = with_sources(report, expected(name)["sources"])
    loaded: dict[str, Any] = json.loads(report.to_json())
    return loaded


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    report, want = data(name), expected(name)
    CHECKER.validate(report)
    assert report["verdict"] == want.get("verdict", "failure")
    kinds = {item["kind"] for item in report["failures"]}
    assert not kinds & set(want.get("never", ()))
    unknown = [item for item in report["failures"] if item["kind"] == "unknown"]
    assert all(item["confidence"] == "unknown" if item["cause"] is None else item["confidence"] != "certain" for item in unknown)
    if "kind" not in want:
        return
    first, *others = report["failures"]
    assert {key: first.get(key) for key in _DIRECT if key in want} == {key: want[key] for key in _DIRECT if key in want}
    if "ranks" in want:
        assert [item["rank"] for item in first["processes"] if item["rank"]] == want["ranks"]
    if "pids" in want:
        assert [item["pid"] for item in first["processes"] if item["pid"]] == want["pids"]
    if "exceptions" in want:
        got = first["exceptions"]
        assert [item["type"] for item in got] == [item["type"] for item in want["exceptions"]]
        assert [_short(one, like) for one, like in zip(got, want["exceptions"], strict=True)] == want["exceptions"]
    if "threads" in want:
        assert [len(item["frames"]) for item in first["threads"]] == want["threads"]
    if "others" in want:
        assert [f"{item['role']} {item['kind']}" for item in others] == want["others"]
    for words in want.get("cause", ()):
        assert words in (first["cause"] or "")
    assert not [words for words in want.get("not_in_cause", ()) if words in (first["cause"] or "")]
    for expression in want.get("numbers", ()):
        assert expression in [item["expression"] for item in first["numbers"]]
    if "same_as" in want:
        assert first["fingerprint"] == data(want["same_as"])["failures"][0]["fingerprint"]
    if "not_as" in want:
        assert first["fingerprint"] != data(want["not_as"])["failures"][0]["fingerprint"]


def _short(got: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    """What the report says, in the keys of what is expected."""
    frames = got["frames"]
    last = frames[-1] if frames else None
    said = {
        "type": got["type"],
        "first_line": got["message"].split("\n", 1)[0],
        "message": got["message"],
        "frames": len(frames),
        "raising_frame": f"{last['file']}:{last['line']}:{last['function']}" if last else None,
        "relation": got["relation"],
        "language": got.get("language", "python"),
        "notes": got.get("notes", []),
    }
    wanted = like.get("first_line", "")
    if wanted.endswith("*") and said["first_line"].startswith(wanted[:-1]):
        said["first_line"] = wanted
    return {key: said[key] for key in like}


def test_every_expected_kind_exists() -> None:
    kinds = {kind.value for kind in Kind}
    for name in CASES:
        want = expected(name)
        assert {want["kind"], *want.get("never", ())} <= kinds if "kind" in want else True, name


def test_every_kind_has_a_case_and_a_near_miss() -> None:
    """`unknown` has its cases; nothing can be a near miss of it that isn't a case of something else."""
    shown = {expected(name).get("kind") for name in CASES}
    shown |= {word.split()[-1] for name in CASES for word in expected(name).get("others", ())}
    missed = {kind for name in CASES for kind in expected(name).get("never", ())}
    assert {kind.value for kind in Kind} - shown == set()
    assert {kind.value for kind in Kind} - missed - {"unknown"} == set()
