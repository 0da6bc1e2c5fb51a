"""The thorough check's answer as changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ddtree_ops.fleet import verify
from ddtree_ops.ports import Completed

NONE: dict[str, list[str]] = {"changed": [], "missing": [], "added": []}


def changes(code: int, stdout: str, stderr: str = "") -> list[tuple[str, str | None]]:
    done = Completed(verify.command("lab-a"), code, stdout, stderr, 0.0)
    return [(change.what, change.before) for change in verify.parse(done)]


def report(**parts: Any) -> str:
    return json.dumps({"ok": not parts, "records": NONE, "files": NONE, "unowned": NONE, "release_files": []} | parts)


def test_nothing_differs() -> None:
    assert changes(0, report()) == []


def test_every_kind_of_difference() -> None:
    text = report(
        release_files=["server_sha256"], files={"changed": ["a.py"], "missing": ["b.py"]}, unowned={**NONE, "added": ["c"]}
    )
    assert changes(1, text) == [
        ("file server.json", "changed"),
        ("file a.py", "changed"),
        ("file b.py", "missing"),
        ("file c", "added"),
    ]


def test_many_are_counted() -> None:
    found = changes(1, report(files={"missing": [str(number) for number in range(80)]}))
    assert (len(found), found[-1]) == (verify.MOST_NAMES + 1, ("more files", "30"))


@pytest.mark.parametrize(
    ("code", "stdout"), [(2, ""), (127, ""), (1, ""), (1, report()), (0, "[]"), (0, "{}"), (0, report(files=[1])), (1, "x")]
)
def test_what_cant_be_told_is_said(code: int, stdout: str) -> None:
    ((what, before),) = changes(code, stdout, "Traceback\nno manifest")
    assert (what, before) == ("release", "can't be verified: no manifest")
