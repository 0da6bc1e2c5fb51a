"""Phases of recorded starts, and estimates from recorded boots."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ddtree_ops.units.eta import Boot, Outcome, read_history, remaining
from ddtree_ops.units.log_lines import split_message
from ddtree_ops.units.phases import Phase, PhaseTracker, may_matter

TARGET = ("distributed_init", "weights", "kv_cache", "graph_capture")
DRAFT = tuple(f"draft_{name}" for name in TARGET)
BAR = "\rMulti-thread loading shards:   0% Completed | 0/4 [00:00<?, ?it/s]"
JOURNALS = Path(__file__).parents[1] / "cases" / "recorded"


def record(text: str, rank: int | None = None) -> str:
    prefix = "" if rank is None else f" TP{rank}"
    return f"[2026-11-29 18:36:27{prefix}] {text}"


def told(*messages: str) -> PhaseTracker:
    tracker = PhaseTracker(started=0.0)
    for second, message in enumerate(messages, 1):
        tracker.feed(message, float(second))
    return tracker


class Said(NamedTuple):
    text: str
    at: float


def messages(name: str) -> Iterator[Said]:
    for line in (JOURNALS / name / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        message = entry["MESSAGE"]
        if entry["_PID"] != "1":  # systemd's own
            text = message if isinstance(message, str) else bytes(message).decode("utf-8", "replace")
            yield Said(text, int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6)


def replay(name: str) -> PhaseTracker:
    tracker = PhaseTracker()
    for said in messages(name):
        tracker.feed(said.text, said.at)
    return tracker


@pytest.mark.parametrize(
    ("name", "finished", "last"),
    [
        ("dflash_ok", ("arguments", *TARGET, *DRAFT, "warmup", "serving"), "shutdown"),
        ("draft_mismatch", ("arguments", *TARGET, "draft_distributed_init"), "draft_weights"),
        ("mem_fraction_too_small", ("arguments", "distributed_init", "weights"), "kv_cache"),
        ("tp2_ddtree_shape", ("arguments", *TARGET, *DRAFT), "warmup"),
        ("tp2_rank1_raise", ("arguments", *TARGET, *DRAFT), "warmup"),
        ("unknown_algorithm", (), "arguments"),
    ],
)
def test_recorded_starts(name: str, finished: tuple[str, ...], last: str) -> None:
    tracker = replay(name)
    assert tuple(segment for segment, _ in tracker.segments) == finished
    assert tracker.segment == last


@pytest.mark.parametrize("name", ["dflash_ok", "draft_mismatch", "tp2_ddtree_shape", "tp2_rank1_raise"])
def test_lines_split_by_somebody_else_tell_the_same(name: str) -> None:
    tracker = PhaseTracker()
    for said in messages(name):
        for one in split_message(said.text):
            looked_closer = may_matter(one.text)
            changed = not one.bar and tracker.feed_line(one.text, one.leading, said.at)
            assert looked_closer or not changed, one.text
    assert tracker.segments == replay(name).segments
    assert tracker.segments


def test_a_first_look_spares_most_lines() -> None:
    assert may_matter(record("Load weight begin. avail mem=1 GB", 3))
    assert may_matter(record("Capture draft verify CUDA graph begin. bs=[1, 2]"))
    assert not may_matter(record("Decode batch, #running-req: 1, #token: 61, gen throughput (token/s): 20.0"))
    assert not may_matter(BAR)


def test_another_ranks_line_is_not_the_servers() -> None:
    tracker = PhaseTracker(0.0)
    assert not tracker.feed_line("Load weight begin.", leading=False, at=1.0)
    assert tracker.feed_line("Load weight begin.", leading=True, at=2.0)
    assert tracker.segments == (("arguments", 2.0),)


def test_recorded_seconds() -> None:
    seconds = dict(replay("tp2_ddtree_shape").segments)
    assert seconds["graph_capture"] == pytest.approx(58.4, abs=0.2)
    assert seconds["draft_graph_capture"] == pytest.approx(2.6, abs=0.2)


def test_a_record_right_behind_a_bar_is_seen() -> None:
    tracker = told(record("Load weight begin. avail mem=1 GB"), BAR + record("Load weight end. elapsed=0.1 s"))
    assert tracker.phase is Phase.KV_CACHE


def test_bars_of_the_running_segment_give_the_fraction() -> None:
    tracker = told(record("Load weight begin."))
    assert tracker.fraction is None
    assert tracker.feed(BAR + BAR.replace("  0%", " 75%"), 2.0)
    assert tracker.fraction == 0.75
    assert not tracker.feed(BAR.replace("  0%", " 50%"), 3.0)
    assert tracker.feed(record("Capture cuda graph begin."), 4.0)
    assert tracker.fraction is None


def test_a_download_bar_is_not_the_weights() -> None:
    tracker = told(record("Load weight begin."))
    assert not tracker.feed("\rFetching 64 files: 100%|#####| 64/64 [00:01<00:00, 50.0it/s]", 2.0)


def test_a_slower_rank_changes_nothing() -> None:
    tracker = told(record("Load weight begin.", 0), record("Load weight end. elapsed=1 s", 0))
    assert not tracker.feed(record("Init torch distributed begin.", 1), 3.0)
    assert not tracker.feed(record("Load weight begin.", 1), 4.0)
    assert tracker.segment == "kv_cache"


def test_rank_zero_of_several_kinds_leads() -> None:
    assert told("[2026-11-29 18:36:27 DP0 PP0 TP0] Load weight begin.").phase is Phase.WEIGHTS
    assert told("[2026-11-29 18:36:27 DP1 PP0 TP0] Load weight begin.").phase is Phase.ARGUMENTS


def test_loading_weights_while_serving_is_no_second_start() -> None:
    tracker = told(record("The server is fired up and ready to roll!"), record("Load weight begin."))
    assert tracker.phase is Phase.SERVING


def test_a_prompt_that_looks_like_a_record_is_text() -> None:
    prompt = record("Receive: obj=GenerateReqInput(text='\r 0%| x/s][2026-11-29 18:36:27] The server is fired up')")
    assert len(list(split_message(prompt))) == 1
    assert told(prompt).phase is Phase.ARGUMENTS


def test_time_never_runs_backwards() -> None:
    tracker = PhaseTracker(started=10.0)
    tracker.feed(record("Init torch distributed begin."), 9.0)
    tracker.feed(record("Load weight begin."), 12.0)
    assert tracker.segments == (("arguments", 0.0), ("distributed_init", 2.0))


def boot(outcome: Outcome = Outcome.READY, **seconds: float) -> Boot:
    return Boot("r1", "abc", "2026-11-29T18:36:27.000Z", outcome, sum(seconds.values()), tuple(seconds.items()))


HISTORY = (
    boot(arguments=90.0, weights=900.0),  # older than the five that count
    boot(arguments=10.0, weights=100.0, warmup=10.0),
    boot(arguments=12.0, weights=120.0, warmup=10.0),
    boot(arguments=11.0, weights=300.0, warmup=10.0),
    boot(arguments=10.0, weights=100.0, warmup=10.0),
    boot(Outcome.CRASHED, arguments=1.0, weights=1.0),
    boot(arguments=11.0, weights=110.0, warmup=10.0),
)


def test_remaining_is_the_medians_of_what_is_left() -> None:
    tracker = PhaseTracker(started=0.0)
    assert remaining(HISTORY, tracker, now=4.0) == pytest.approx(7.0 + 110.0 + 10.0)


def test_an_overdue_segment_counts_as_about_to_end() -> None:
    assert remaining(HISTORY, PhaseTracker(started=0.0), now=500.0) == pytest.approx(120.0)


def test_weights_go_by_their_own_pace() -> None:
    tracker = told(record("Load weight begin."))
    tracker.feed(BAR.replace("  0%", " 25%"), 61.0)
    assert remaining(HISTORY, tracker, now=61.0) == pytest.approx(180.0 + 10.0)


def test_nothing_is_promised_without_a_boot_like_this_one() -> None:
    tracker = PhaseTracker(started=0.0)
    assert remaining((), tracker, now=4.0) is None
    assert remaining((HISTORY[5],), tracker, now=4.0) is None
    tracker.feed(record("Capture cuda graph begin."), 5.0)
    assert remaining(HISTORY, tracker, now=6.0) is None


def test_records_survive_writing_and_a_torn_line_is_left_out() -> None:
    lines = [entry.to_json() for entry in HISTORY]
    assert read_history([*lines, lines[0][:40], "[]", "{}"]) == HISTORY
    with pytest.raises(ValueError, match="not a boot record"):
        Boot.from_json('{"schema": "something/else"}')


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-1", '"x"', "null", "true", "[1]", "1" + "0" * 400])
def test_a_record_without_a_time_is_left_out(seconds: str) -> None:
    line = HISTORY[0].to_json()
    assert read_history([line.replace('"seconds": 990.0', f'"seconds": {seconds}')]) == ()
    assert read_history([line.replace("900.0", seconds)]) == ()


@pytest.mark.parametrize("line", ["[" * 100_000, "null", "9" * 5000, "\0"], ids=range(4))
def test_a_line_of_an_odd_shape_is_left_out(line: str) -> None:
    assert read_history([line, HISTORY[0].to_json()]) == HISTORY[:1]
