"""The timeline: phases in order, moments in lanes, one run only."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.scale import Scale
from ddtree_ops.report.timeline import Span, Timeline, Tone, joined, merged_draft, timeline
from ddtree_ops.report.wording import elapsed
from ddtree_ops.triage.model import Event
from tests.report.reports import of
from tests.triage.journals import plain


def story(name: str) -> Timeline:
    found = of(name).timeline()
    assert found
    return found


def test_phases_of_the_story() -> None:
    spans = merged_draft(story("tp2_ddtree_shape").phases)
    assert [span.name for span in spans] == [
        "starting",
        "distributed init",
        "weights",
        "kv cache",
        "graph capture",
        "draft model",
        "warmup",
    ]
    assert all(one.end == two.begin for one, two in itertools.pairwise(spans))
    assert spans[0].begin == 0
    assert spans[-1].end == pytest.approx(91.52, abs=0.01)


def test_moments_of_the_story() -> None:
    told = joined(story("tp2_ddtree_shape").moments)
    assert [(round(moment.at, 1), moment.tone, lanes) for moment, lanes in told] == [
        (91.5, Tone.ROOT, ["TP0", "TP1"]),
        (91.5, Tone.SIGN, ["server"]),
        (96.5, Tone.SIGN, ["server"]),
        (98.2, Tone.SIGN, ["server"]),
    ]


def test_only_the_run_of_the_root_is_told() -> None:
    report = of("tp2_ddtree_shape")
    assert report.since_us
    assert report.until_us
    hour = 3_600_000_000
    before = (
        Event(report.since_us - hour, "unit_start", "Starting x"),
        Event(report.since_us - hour + 1, "phase", "weights"),
        Event(report.since_us - hour + 2, "main_process_exit", "x"),
        Event(report.since_us, "unit_start", "Starting x"),
        Event(report.since_us + 1, "unit_start", "Started x"),
    )
    after = (Event(report.until_us + hour, "unit_start", "Starting x"), Event(report.until_us + hour + 9, "phase", "weights"))
    found = replace(report, since_us=report.since_us - hour, events=(*before, *report.events, *after)).timeline()
    assert found
    assert found.start_us == report.since_us
    assert found.phases == (Span("starting", 0.0, found.phases[0].end), *story("tp2_ddtree_shape").phases[1:])


def test_without_times_there_is_none() -> None:
    assert triage_entries(plain("[x] nothing")).timeline() is None
    assert timeline((), (), None, None) is None
    assert timeline((Event(5, "phase", "weights"),), (), 5, 5) is None


def test_a_short_phase_can_be_seen_and_places_are_in_order() -> None:
    found = story("tp2_ddtree_shape")
    x = Scale(found, merged_draft(found.phases))
    places = [x(second / 10) for second in range(int(found.length * 10) + 20)]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, 100.0)
    weights = found.phases[2]
    assert x(weights.end) - x(weights.begin) > 2
    assert x(-5) == 0.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0.0 s"), (91.52, "91.5 s"), (725, "12 min 05 s"), (10920, "3 h 02 min"), (187_200, "2 d 04 h")],
)
def test_elapsed(seconds: float, words: str) -> None:
    assert elapsed(seconds) == words
