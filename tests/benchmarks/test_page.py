"""docs/benchmarks.md is what the results say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report, results
from benchmarks.goals import GOALS, cell

MACHINE = {
    "at": "2026-11-29T00:00:00+00:00", "cpu": "x", "cores": 2, "memory_gib": 8.0, "kernel": "6", "python": "3.11", "load": 0.1,
    "commit": "abc", "versions": {"pyinfra": "3.10.0"},
}  # fmt: skip


def figure(median: float) -> dict[str, float]:
    return {"median": median, "min": median - 0.1, "max": median + 0.1, "n": 3}


def tool(median: float) -> dict[str, Any]:
    return {"seconds": figure(median), "whole": figure(median), "cpu": figure(median), "peak_mib": 80.0}


def documents(ours: float = 0.5) -> dict[str, Any]:
    case = {"scenario": "noop", "hosts": 1, "round_trip_ms": 0, "repeat": 3, "delay": "none"}
    stories = [{"story": "crash_waiting", "late": figure(0.7), "poller": figure(8.0), "silence": 3.0}]
    return {
        "converge": {"machine": MACHINE, "cases": [{**case, "tools": {"ours": tool(ours), "pyinfra": tool(2.0)}}]},
        "readiness": {"machine": MACHINE, "stories": stories, "stall_after": 15, "poll_every": 15.0},
    }


def test_the_page_is_in_step_with_the_results() -> None:
    assert report.PAGE.read_text() == report.page(report.load()), "run `python -m benchmarks.report`"


def test_each_figure_of_the_results_stands_on_the_page() -> None:
    text = report.page(documents())
    assert "| ddtree-ops | 0.50 (0.40 to 0.60), 80 MiB |" in text
    assert "| pyinfra | 2.00 (1.90 to 2.10), **4.0x** |" in text
    assert "| 0.70 (0.60 to 0.80) | 3 | 8.00 (7.90 to 8.10) |" in text


def test_commands_of_params_are_held_against_bare_parsing() -> None:
    rows = [("ast.parse of every file", 2.0), ("params trace", 0.5)]
    commands = [{"what": what, "wall": figure(value), "cpu": figure(value)} for what, value in rows]
    tree = {"version": "0.5.13.post1", "files": 1564, "lines": 565_000}
    text = report.page({"params": {"machine": MACHINE, "tree": tree, "commands": commands}})
    assert "SGLang 0.5.13.post1: 1,564 files, 565,000 lines" in text
    assert "| params trace | 0.50 (0.40 to 0.60) | 0.50 | 0.25 |" in text
    assert "| params trace on a whole SGLang, again | below 0.5 s | 0.50 | **missed** |" in text


@pytest.mark.parametrize(("ours", "word"), [(0.5, "reached"), (0.7, "**missed**")])
def test_a_goal_says_whether_it_was_reached(ours: float, word: str) -> None:
    assert f"| no-op, 1 host | below 0.6 s | {ours:.2f} | {word} |" in report.page(documents(ours))


def test_what_was_not_measured_is_said() -> None:
    assert "| no-op, 10 hosts | below 1.2 s | not measured |  |" in report.page(documents())


def test_every_goal_reads_a_cell_that_the_benchmark_measures() -> None:
    """A goal that asks for what no case measures would stay `not measured` for ever."""
    from benchmarks.contestants import TOOLS, Scenario
    from benchmarks.converge import CASES, Case
    from benchmarks.params import entries
    from benchmarks.readiness import STORIES

    cases = [
        {**vars(case), "scenario": str(case.scenario), "tools": {one.name: tool(1.0) for one in TOOLS if case.takes(one, 0)}}
        for case in (*CASES, Case(Scenario.FIRST, 30, 0, 1))  # the last one is the beginning of each run on 30 hosts
    ]
    stories = [{"story": story.name, "late": figure(1.0)} for story in STORIES]
    commands = [{"what": entry.what, "wall": figure(1.0)} for entry in entries(Path("/t"), Path("/f"), None, Path("/v"))]
    full = {"converge": {"cases": cases}, "readiness": {"stories": stories}, "params": {"commands": commands}}
    assert [goal.what for goal in GOALS if goal.read(full) is None] == []


def test_every_story_has_words() -> None:
    from benchmarks.readiness import STORIES

    assert {story.name for story in STORIES} == report.STORIES.keys()


def test_the_thirty_hosts_file_is_read_too() -> None:
    case = {"scenario": "first", "hosts": 30, "round_trip_ms": 0, "delay": "none", "tools": {"ours": tool(9.0)}}
    assert cell({"converge-30": {"cases": [case]}}, "first", 30, 0, "ours", "peak_mib") == 80.0


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"schema": "other"}))
    with pytest.raises(ValueError, match="ddtree-ops/benchmark/v1"):
        results.read(tmp_path / "x.json")


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    results.write(tmp_path / "new" / "cli.json", "cli", MACHINE, commands=[])
    assert report.load(tmp_path / "new")["cli"]["machine"] == MACHINE
