"""The same failure or not, and what differs."""

from __future__ import annotations

from dataclasses import replace

from ddtree_ops.report.compare import Sameness, compare
from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.failure import FailureReport
from tests.report.reports import of
from tests.triage.journals import recorded


def changed(name: str, *pairs: tuple[str, str]) -> FailureReport:
    """The report of a recorded journal with other words in it."""
    entries = recorded(name)
    for before, after in pairs:
        entries = [entry._replace(message=entry.message.replace(before, after)) for entry in entries]
    return triage_entries(entries, host="ct200")


def test_a_report_is_the_same_as_itself() -> None:
    found = compare(of("tp2_ddtree_shape"), of("tp2_ddtree_shape"))
    assert (found.sameness, found.exit_code, found.differences) == (Sameness.SAME, 0, ())
    assert found.to_text() == "Same failure, fingerprint 20aebe97976f2c3f\n"


def test_values_ranks_and_lines_make_no_other_failure() -> None:
    other = changed("tp2_ddtree_shape", ("(33)", "(17)"), (" TP0]", " TP4]"), ("line 448", "line 449"))
    found = compare(of("tp2_ddtree_shape"), other)
    assert found.sameness is Sameness.SAME
    assert {item.what for item in found.differences} == {"message", "number", "place"}
    assert not any(item.decides for item in found.differences)
    (number,) = (item for item in found.differences if item.what == "number")
    assert number.a.startswith("33 (")
    assert number.b.startswith("17 (")
    assert "message (a value only)" in found.to_text()


def test_another_frame_makes_another_failure_and_is_named() -> None:
    found = compare(of("tp2_ddtree_shape"), changed("tp2_ddtree_shape", ("in fill_from", "in fill_to")))
    assert (found.sameness, found.exit_code) == (Sameness.DIFFERENT, 6)
    (frame,) = (item for item in found.differences if item.what == "frame")
    assert frame.a == "sglang/srt/model_executor/cuda_graph_buffer_registry.py in fill_from"
    assert frame.b == "sglang/srt/model_executor/cuda_graph_buffer_registry.py in fill_to"
    assert frame.decides


def test_two_failures_differ_in_kind_and_exceptions() -> None:
    found = compare(of("tp2_ddtree_shape"), of("tp2_rank1_raise"))
    told = {item.what: (item.a, item.b) for item in found.differences}
    assert told["kind"] == ("graph_token_count_mismatch", "unknown")
    assert told["exceptions"] == ("RuntimeError", "KeyError, cause: RuntimeError")
    assert found.to_text().startswith("Different: 20aebe97976f2c3f and ")
    assert found.to_data()["result"] == "different"
    assert max(map(len, found.to_text(width=60).splitlines())) <= 60


def test_a_failure_and_none() -> None:
    found = compare(of("dflash_ok"), of("tp2_rank1_raise"))
    assert found.exit_code == 6
    assert [(item.what, item.a, item.b) for item in found.differences] == [("verdict", "No failure found", "Failure")]
    assert compare(of("dflash_ok"), of("dflash_ok")).sameness is Sameness.SAME


def test_nothing_to_judge_by_is_no_answer() -> None:
    empty = triage_entries([])
    assert compare(empty, of("tp2_rank1_raise")).exit_code == 10
    assert compare(empty, empty).exit_code == 10


def test_a_stored_report_compares_like_a_fresh_one() -> None:
    fresh = of("tp2_rank1_raise")
    assert compare(fresh, FailureReport.from_data(fresh.to_data())).differences == ()
    assert compare(replace(fresh, host=None), fresh).differences == ()
