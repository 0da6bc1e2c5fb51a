"""What was withdrawn is a figure of a result that is there, and doesn't reach the report."""

from __future__ import annotations

from tests.gpu.report import RESULTS, render
from tests.gpu.results import read_results
from tests.gpu.withdrawn import WITHDRAWN, without_withdrawn


def test_every_withdrawn_figure_is_one_of_a_kept_result() -> None:
    results = {(one.stage, one.date): one for one in read_results(RESULTS.glob("*.json"))}
    for key, gone in WITHDRAWN.items():
        assert gone.keys() <= results[key].findings.keys(), key


def test_the_report_has_the_reason_in_its_place() -> None:
    results = read_results(RESULTS.glob("load.json"))
    text = render(results)
    assert "tokens left in use" not in text
    assert all(why in text for why in without_withdrawn(results[0])[1])
