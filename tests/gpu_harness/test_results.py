"""Results on disk, metrics between two readings, and the report that is put together from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gpu.results import BadResult, Result, Verdict, latest, read_result, read_results, write_result
from tests.gpu.step_times import read_metrics, step_split, total

MACHINE = {
    "cards": [{"name": "NVIDIA H200", "memory": "143771 MiB"}],
    "driver": "580.1",
    "python": "3.12.3",
    "versions": {"sglang": "0.5.13.post1"},
}


def result(stage: str, date: str, *, right: bool | None = True) -> Result:
    verdict = Verdict("it works", right, "seen")
    return Result(stage, date, 12.5, MACHINE, {"budgets": [7]}, {"acceptance": {"dflash": {"seen": 2.0}}}, (verdict,))


def test_a_result_comes_back_as_written_and_is_never_overwritten(tmp_path: Path) -> None:
    first, second = (result("acceptance", f"2026-11-29T2{hour}:00:00+00:00") for hour in (1, 2))
    paths = [write_result(one, tmp_path) for one in (second, first)]
    assert [path.name for path in paths] == ["acceptance.json", "acceptance-2.json"]
    assert read_results(paths) == [first, second]
    assert latest(read_results(paths))["acceptance"] == second


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stage": "x", "verdicts": []}'])
def test_what_is_no_result_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(BadResult, match=r"x\.json"):
        read_result(path)


BEFORE = """# HELP sglang_ddtree_step_seconds_total x
sglang_ddtree_step_seconds_total{model_name="m",part="draft"} 1.0
sglang_ddtree_step_seconds_total{model_name="m",part="verify"} 2.0
sglang_ddtree_verify_steps_total{model_name="m"} 10
sglang:token_usage{tp_rank="0"} nan
not a metric at all
"""
AFTER = BEFORE.replace("} 1.0", "} 1.5").replace("} 2.0", "} 2.001").replace("} 10", "} 110")


def test_metrics_are_read_and_added_up() -> None:
    metrics = read_metrics(BEFORE)
    assert total(metrics, "sglang_ddtree_step_seconds_total") == 3.0
    assert total(metrics, "sglang_ddtree_step_seconds_total", part="draft") == 1.0
    assert total(metrics, "absent") == 0


def test_a_steps_split_is_in_microseconds_and_none_without_steps() -> None:
    before = read_metrics(BEFORE)
    assert step_split(before, read_metrics(AFTER)) == {"draft": 5000.0, "build": 0.0, "verify": 10.0, "commit": 0.0}
    assert step_split(before, before) is None


def test_the_report_holds_what_was_run_and_names_what_was_not() -> None:
    from tests.gpu.report import render

    text = render(
        [result("acceptance", "2026-11-29T21:00:00+00:00"), result("acceptance", "2026-11-29T22:00:00+00:00", right=False)]
    )
    assert "| (b) Acceptance length | it works | **no** |" in text, "the newer result counts"
    assert "| dflash | 2.0 |" in text
    assert "NVIDIA H200, driver 580.1, sglang 0.5.13.post1" in text
    assert "(a) Greedy text" not in text.split("## Not run")[0]
    assert "(a) Greedy text" in text.split("## Not run")[1]


def test_the_report_in_docs_is_what_the_results_say() -> None:
    from tests.gpu.report import REPORT, RESULTS, render

    assert REPORT.read_text() == render(read_results(RESULTS.glob("*.json"))), "run python3 -m tests.gpu.report"
