"""Passes over journals that were rotated away, states that can't be used, kept crashes, and what a hostile log may try."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.journal.one_pass import Pass
from ddtree_ops.exporter.journal.reports import read_report
from ddtree_ops.triage.entry import JournalEntry
from tests.exporter.journal_story import UNIT, Story, StoryShell
from tests.triage.written_forms import as_export

CRASH = "graph_token_count_mismatch"


def crash_story(count: int = 1) -> Story:
    story = Story()
    for _ in range(count):
        story.begin("tp2_ddtree_shape")
    return story


def passed(directory: Path, entries: list[JournalEntry], **shell: Any) -> dict[str, Any]:
    shown = StoryShell(entries, **shell)
    Pass(shown, UNIT, directory, sleep=shown.sleep).run()
    data: dict[str, Any] = json.loads((directory / "journal-30000.json").read_text())
    return data


def roots(data: dict[str, Any]) -> dict[str, int]:
    return {kind: number for kind, role, number in data["totals"] if role == "root"}


def written(path: Path, text: str, at: float) -> None:
    path.write_text(text)
    os.utime(path, (at, at))


@pytest.mark.parametrize("lost", [30, 120, 185, 190])
def test_rotation_within_the_open_run_loses_and_doubles_nothing(lost: int, tmp_path: Path) -> None:
    story = crash_story(2)
    passed(tmp_path, story.entries, visible=180)
    assert roots(passed(tmp_path, story.entries, oldest=lost)) == {CRASH: 2}
    assert roots(passed(tmp_path, story.entries, oldest=lost)) == {CRASH: 2}


def test_a_run_that_serves_is_left_behind_and_read_on_from_there(tmp_path: Path) -> None:
    story = Story()
    story.begin("dflash_ok", "SIGTERM received")
    story.serve(300)
    first = passed(tmp_path, story.entries)
    assert first["head"]["cursor"] == story.entries[0].cursor
    assert first["start"] == {**first["start"], "cursor": story.entries[-1].cursor, "inclusive": False}
    story.fail_request()
    story.serve(20)
    again = passed(tmp_path, story.entries)
    assert again["totals"] == [["request_error", "request", 1]]
    assert again["lines"] == len(story.entries)
    rotated = passed(tmp_path, story.entries, oldest=len(story.entries) - 30)
    assert rotated["totals"] == again["totals"]


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99}', '{"format":1,"unit":"x"}', "[" * 100_000, "\0" * 50])
def test_a_state_that_cannot_be_used_is_set_aside_and_counts_only_what_is_new(text: str, tmp_path: Path) -> None:
    story = crash_story()
    path = tmp_path / "journal-30000.json"
    written(path, text, 0)
    data = passed(tmp_path, story.entries)
    assert roots(data) == {CRASH: 1}
    data["totals"][0][2] = "many"
    path.write_text(json.dumps(data))
    aside = tmp_path / "journal-30000.json.aside"
    assert aside.read_text() == text
    passed(tmp_path, story.entries)
    assert '"many"' in aside.read_text()


def test_what_a_lost_state_may_have_counted_is_no_news(tmp_path: Path) -> None:
    story = crash_story()
    written(tmp_path / "journal-30000.json", "broken", story.at / 1e6 + 1)
    data = passed(tmp_path, story.entries)
    assert roots(data) == {}
    assert [item["count"] for item in data["newest"]] == [1]
    story.begin("tp2_ddtree_shape")
    assert roots(passed(tmp_path, story.entries)) == {CRASH: 1}


def test_another_program_does_not_count_the_open_run_again(tmp_path: Path) -> None:
    story = crash_story()
    data = passed(tmp_path, story.entries)
    (name,) = data["counted"]
    data["counted"] = {name[::-1]: data["counted"][name]}  # as if it had named the failure otherwise
    data["program"] = "0.0.1"
    (tmp_path / "journal-30000.json").write_text(json.dumps(data))
    assert roots(passed(tmp_path, story.entries)) == {CRASH: 1}


def test_kept_crashes_stand_in_for_what_was_rotated_away(tmp_path: Path) -> None:
    story = crash_story(2)
    second = next(place for place, one in enumerate(story.entries) if one.invocation_id == f"{2:032x}")
    kept = tmp_path / "crashes"
    kept.mkdir()
    for number, part in ((1, story.entries[:second]), (2, story.entries[second:])):
        packed = gzip.compress(b"".join(map(as_export, part)))
        (kept / f"20261129T18000{number}Z-{number:032x}.export.gz").write_bytes(packed)
    (kept / f"20261129T180009Z-{9:032x}.export.gz").write_bytes(b"\x1f\x8b broken")
    for _ in range(2):
        data = passed(tmp_path, story.entries, oldest=second, crashes=kept)
        assert roots(data) == {CRASH: 2}


def test_the_report_of_a_failure_is_kept_without_what_was_said_before_it(tmp_path: Path) -> None:
    story = Story()
    story.begin("dflash_ok", "SIGTERM received")
    like = story.entries[-1]
    story.add(like._replace(pid=5997, message="my diary: password=hunter22secret"))
    story.fail_request()
    story.serve(20)
    (item,) = passed(tmp_path, story.entries)["newest"]
    page, data = (read_report(tmp_path, item["fingerprint"], kind) for kind in ("html", "json"))
    assert page is not None and b"request" in page
    assert b"diary" not in page and b"hunter22" not in page and data is not None and b"diary" not in data
    assert read_report(tmp_path, "0" * 16) is None
    with pytest.raises(ValueError, match="not a fingerprint"):
        read_report(tmp_path, "../../etc/passwd")


def test_hostile_entries_are_bounded_and_end_nothing(tmp_path: Path) -> None:
    story = crash_story()
    like = story.entries[20]
    story.add(like._replace(message="Traceback (most recent call last):\n" + "A" * (3 << 20)))
    story.add(like._replace(message="\x1b[2J\x00\x01\r" + "é\ud800".encode("utf-8", "replace").decode() + "\n" * 5000))
    for number in range(80):
        story.add(like._replace(message=f"[2026-11-29 18:00:00 TP0] Scheduler hit an exception: x{number}"))
        story.add(
            like._replace(message=f'Traceback (most recent call last):\n  File "/a{number}.py", line 1, in f\nE{number}Error: x')
        )
    data = passed(tmp_path, story.entries)
    assert roots(data).get(CRASH) == 1
    assert len(data["newest"]) <= 20
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 20 << 20


def test_only_one_pass_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "journal-30000.json"
    left = tmp_path / ".journal-30000.json.4711"
    left.write_text("half")
    with state_file.alone(path) as first, state_file.alone(path) as second:
        assert first and not second
    assert not left.exists()
    with pytest.raises(ValueError, match="not a server's unit"):
        state_file.of_unit(tmp_path, "../x.service")
