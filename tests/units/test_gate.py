"""The gate's judgement: no data never passes, and every check can refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ddtree_ops.units.gate import Seen, Verdict, Wanted, judge
from ddtree_ops.units.gate_answers import GateAnswer, RecordedAnswer, Recording
from ddtree_ops.units.tree_counters import Growth, NoGrowth

INFO = {"speculative_algorithm": "DDTREE", "speculative_num_draft_tokens": 32, "speculative_dflash_block_size": 8}
ANSWERS = tuple(GateAnswer(f"p{n}", f"text {n}", tuple(range(n, n + 41)), 41, 10) for n in range(10))
# 10 answers of 1 + 40 tokens in 10 steps each
GROWN = Growth(committed=400, accepted=300, passes=100, proposed=3100, fallbacks=0)
GOOD = Seen(INFO, GROWN, ANSWERS, 10)
RECORDED = tuple(RecordedAnswer(one.prompt, one.text, one.token_ids, 41) for one in ANSWERS)
RECORDING = Recording("DFLASH", 3.0, RECORDED)
WANTED = Wanted(budget=31, block_size=8, least_length=1.2, recording=RECORDING)


def verdicts(seen: Seen, wanted: Wanted = WANTED) -> dict[str, Verdict]:
    return {finding.check: finding.verdict for finding in judge(wanted, seen).findings}


def text(seen: Seen, check: str, wanted: Wanted = WANTED) -> str:
    return next(finding.text for finding in judge(wanted, seen).findings if finding.check == check)


def changed(number: int, **changes: Any) -> tuple[GateAnswer, ...]:
    """The first `number` answers changed."""
    return tuple(replace(one, **changes) if place < number else one for place, one in enumerate(ANSWERS))


def test_all_is_well() -> None:
    judged = judge(WANTED, GOOD)
    assert judged.verdict is Verdict.PASSED
    assert set(verdicts(GOOD)) == {"algorithm", "answers", "counters", "acceptance", "equality"}
    assert (judged.acceptance_length, judged.equal, judged.compared) == (4.0, 10, 10)


@pytest.mark.parametrize(
    ("info", "verdict"),
    [
        ({**INFO, "speculative_algorithm": "DFLASH"}, Verdict.REFUSED),
        ({**INFO, "speculative_algorithm": None}, Verdict.REFUSED),
        ({**INFO, "speculative_num_draft_tokens": 8}, Verdict.REFUSED),
        ({**INFO, "speculative_dflash_block_size": 16}, Verdict.REFUSED),
        ({**INFO, "speculative_num_draft_tokens": 8, "speculative_ddtree_budget": 31}, Verdict.PASSED),
        ({"speculative_algorithm": "DDTREE", "speculative_num_draft_tokens": 8, "speculative_ddtree_budget": 31}, Verdict.PASSED),
        ({**INFO, "speculative_ddtree_budget": 15}, Verdict.REFUSED),
        ({"speculative_algorithm": "DDTREE"}, Verdict.INCONCLUSIVE),
        ({**INFO, "speculative_num_draft_tokens": "32"}, Verdict.INCONCLUSIVE),
        ({}, Verdict.INCONCLUSIVE),
        ("HTTP 404", Verdict.INCONCLUSIVE),
    ],
)  # fmt: skip
def test_the_algorithm(info: Any, verdict: Verdict) -> None:
    judged = judge(WANTED, replace(GOOD, server_info=info))
    assert judged.verdict is verdict
    assert verdicts(replace(GOOD, server_info=info))["algorithm"] is verdict


@pytest.mark.parametrize(
    ("growth", "verdict", "words"),
    [
        (NoGrowth("/metrics: HTTP 404"), Verdict.INCONCLUSIVE, "404"),
        (Growth(0, 0, 0, 0, 0), Verdict.REFUSED, "stood still while 400 tokens"),
        (Growth(390, 290, 100, 0, 0), Verdict.INCONCLUSIVE, "miss some"),
        (Growth(400, 400, 100, 0, 0), Verdict.INCONCLUSIVE, "no verify step"),
        (Growth(400, 200, 100, 0, 0), Verdict.INCONCLUSIVE, "2.00 tokens a step, the answers' meta_info 4.00"),
        (Growth(408, 306, 100, 0, 3), Verdict.PASSED, "3 passes without a CUDA graph"),
        (Growth(800, 400, 300, 0, 0), Verdict.PASSED, "other clients had 50% of 800 tokens"),
    ],
)
def test_the_counters(growth: Growth | NoGrowth, verdict: Verdict, words: str) -> None:
    seen = replace(GOOD, growth=growth)
    assert verdicts(seen)["counters"] is verdict
    assert words in text(seen, "counters")
    assert judge(WANTED, seen).verdict is verdict


def test_other_clients_do_not_mislead() -> None:
    """Their good acceptance hides ours in the counters; the answers' own figures are judged."""
    poor = tuple(replace(one, verify_steps=40) for one in ANSWERS)
    judged = judge(WANTED, Seen(INFO, Growth(4000, 3000, 900, 0, 0), poor, 10))
    assert judged.verdict is Verdict.REFUSED
    assert judged.acceptance_length == 1.0


def test_other_clients_and_answers_that_do_not_tell_their_steps_are_inconclusive() -> None:
    silent = tuple(replace(one, verify_steps=None) for one in ANSWERS)
    assert judge(WANTED, Seen(INFO, Growth(800, 600, 200, 0, 0), silent, 10)).verdict is Verdict.INCONCLUSIVE
    assert judge(WANTED, Seen(INFO, GROWN, silent, 10)).verdict is Verdict.PASSED  # alone, the counters are enough


def test_one_answer_without_steps_is_not_taken_for_fast() -> None:
    """Tokens of an answer over the steps of the others would be a flattering length."""
    seen = Seen(INFO, Growth(800, 600, 200, 0, 0), changed(1, verify_steps=None), 10)
    assert judge(WANTED, seen).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("wanted", "verdict", "words"),
    [
        (replace(WANTED, least_length=4.1), Verdict.REFUSED, "4.00 is below 4.10 (the spec's least)"),
        (replace(WANTED, least_length=4.0), Verdict.PASSED, "at least 4.00 (the spec's least)"),
        (replace(WANTED, recording=replace(RECORDING, acceptance_length=4.5), recording_factor=0.95), Verdict.REFUSED,
         "4.00 is below 4.27 (4.50 of the recorded DFLASH x 0.95)"),
        (replace(WANTED, recording=replace(RECORDING, acceptance_length=4.5), recording_factor=0.0), Verdict.PASSED, "1.20"),
        (replace(WANTED, recording=replace(RECORDING, algorithm=None, acceptance_length=None)), Verdict.PASSED, "1.20"),
    ],
)  # fmt: skip
def test_the_acceptance_length(wanted: Wanted, verdict: Verdict, words: str) -> None:
    assert verdicts(GOOD, wanted)["acceptance"] is verdict
    assert words in text(GOOD, "acceptance", wanted)


def test_too_few_steps_are_no_data() -> None:
    few = tuple(replace(one, tokens=5, verify_steps=1) for one in ANSWERS)
    assert judge(WANTED, Seen(INFO, Growth(40, 30, 10, 0, 0), few, 10)).verdict is Verdict.INCONCLUSIVE
    nothing = tuple(replace(one, tokens=1, verify_steps=0) for one in ANSWERS)
    assert judge(WANTED, Seen(INFO, Growth(0, 0, 0, 0, 0), nothing, 10)).verdict is Verdict.INCONCLUSIVE
    assert judge(WANTED, Seen(INFO, NoGrowth("x"), (), 0)).verdict is Verdict.INCONCLUSIVE


def test_requests_that_failed_refuse_and_a_lack_of_time_does_not_pass() -> None:
    assert verdicts(replace(GOOD, answers=changed(1, problem="HTTP 500: oh")))["answers"] is Verdict.REFUSED
    assert judge(WANTED, replace(GOOD, asked=16)).verdict is Verdict.INCONCLUSIVE


def test_answers_that_differ() -> None:
    other = tuple(range(1000, 1041))
    one = replace(GOOD, answers=changed(1, token_ids=other, text="something else"))
    assert judge(WANTED, one).verdict is Verdict.PASSED  # one of ten may be a tie
    two = judge(WANTED, replace(GOOD, answers=changed(2, token_ids=other, text="something else")))
    assert two.verdict is Verdict.REFUSED
    assert (two.equal, two.compared) == (8, 10)
    (finding,) = two.of(Verdict.REFUSED)
    assert finding.details[0] == "p0: differs at token 1: recorded 'text 0', now 'something else'"


def test_no_recorded_answer_that_fits_is_inconclusive() -> None:
    for answers in (
        (),
        tuple(replace(one, prompt="x" + one.prompt) for one in RECORDED),
        tuple(replace(one, steady=1) for one in RECORDED),
    ):
        wanted = replace(WANTED, recording=replace(RECORDING, answers=answers))
        assert judge(wanted, GOOD).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("kept", "differ", "verdict"),
    [(1, 0, Verdict.INCONCLUSIVE), (7, 0, Verdict.INCONCLUSIVE), (8, 0, Verdict.PASSED), (7, 1, Verdict.INCONCLUSIVE),
     (7, 2, Verdict.REFUSED), (1, 1, Verdict.INCONCLUSIVE)],
)  # fmt: skip
def test_a_few_comparisons_say_nothing_of_the_rest(kept: int, differ: int, verdict: Verdict) -> None:
    """Unless so many of the few differ that the rest couldn't make up for them."""
    wanted = replace(WANTED, recording=replace(RECORDING, answers=RECORDED[:kept]))
    seen = replace(GOOD, answers=changed(differ, token_ids=tuple(range(1000, 1041)), text="something else"))
    assert verdicts(seen, wanted)["equality"] is verdict
    if verdict is Verdict.INCONCLUSIVE:
        assert text(seen, "equality", wanted).endswith("of 10 prompts at least 8 must be comparable")


def test_half_of_a_large_set_and_all_of_a_small_one_must_be_comparable() -> None:
    many = tuple(replace(ANSWERS[0], prompt=f"p{n}") for n in range(40))
    for asked, compared, verdict in ((40, 19, Verdict.INCONCLUSIVE), (40, 20, Verdict.PASSED), (2, 1, Verdict.INCONCLUSIVE)):
        recorded = tuple(replace(RECORDED[0], prompt=f"p{n}") for n in range(compared))
        wanted = replace(WANTED, recording=replace(RECORDING, answers=recorded))
        assert verdicts(replace(GOOD, answers=many[:asked], asked=asked), wanted)["equality"] is verdict


def test_without_a_recording_answers_are_not_compared() -> None:
    judged = judge(replace(WANTED, recording=None), GOOD)
    assert (judged.verdict, judged.equal, judged.compared) == (Verdict.PASSED, None, None)


def test_a_refusal_outweighs_what_is_inconclusive() -> None:
    seen = replace(GOOD, server_info={**INFO, "speculative_algorithm": "DFLASH"}, growth=NoGrowth("none"))
    assert judge(WANTED, seen).verdict is Verdict.REFUSED
