"""The acceptance gate: is this DDTREE, does its tree work, are its answers the recorded ones? Pure judgement of what was read.

Every check passes, refuses or is inconclusive. A refusal outweighs what is inconclusive, and that outweighs a pass: a check
without data never passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.units.gate_answers import GateAnswer, Recording, compare, own_work
from ddtree_ops.units.tree_counters import Growth, NoGrowth

MOST_UNEXPLAINED = 0.02  # of our own tokens: more in the counters than that is other clients' work
AGREEMENT = 0.02  # how far counters and meta_info may be apart on the same requests
LEAST_STEPS = 16  # fewer verify steps are no data
LEAST_COMPARED = 8  # prompts (all of a smaller set), and never less than half of the set: fewer say nothing of the others


class Verdict(StrEnum):
    """How the gate, or one of its checks, ended."""

    PASSED = "passed"
    REFUSED = "refused"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `details` are lines that show it."""

    check: str
    verdict: Verdict
    text: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the spec wants to see. `prefix_tokens` of an answer must be the recorded ones for `least_equal` of the prompts."""

    budget: int
    block_size: int
    least_length: float
    recording: Recording | None = None
    recording_factor: float = 1.0
    prefix_tokens: int = 32
    least_equal: float = 0.9


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of the server; `growth` spans exactly the time in which the answers were given."""

    server_info: Mapping[str, object] | str
    """The document, or why there is none."""
    growth: Growth | NoGrowth
    answers: tuple[GateAnswer, ...]
    asked: int
    """Prompts of the set; more than answers if the time ran out."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """All findings, and the figures that people want to see."""

    findings: tuple[Finding, ...]
    acceptance_length: float | None = None
    least_length: float | None = None
    equal: int | None = None
    compared: int | None = None

    @property
    def verdict(self) -> Verdict:
        """The gravest of the findings."""
        found = {finding.verdict for finding in self.findings}
        grave = (Verdict.REFUSED, Verdict.INCONCLUSIVE, Verdict.PASSED)
        return next((verdict for verdict in grave if verdict in found), Verdict.SKIPPED)

    def of(self, verdict: Verdict) -> tuple[Finding, ...]:
        """The findings with this verdict."""
        return tuple(finding for finding in self.findings if finding.verdict is verdict)


@dataclass(frozen=True, slots=True)
class _Length:
    """An acceptance length: tokens over verify steps of single requests (at least one)."""

    tokens: int
    steps: int

    @property
    def value(self) -> float:
        return self.tokens / self.steps


def judge(wanted: Wanted, seen: Seen) -> Judgement:
    """All checks; none is left out because another one failed."""
    length, counted = _length(seen)
    least = _least_length(wanted)
    findings = [_algorithm(wanted, seen.server_info), _answered(seen), counted]
    if length is not None:
        findings.append(_acceptance(length, least, wanted))
    equality, equal, compared = _equality(wanted, seen)
    if equality is not None:
        findings.append(equality)
    return Judgement(tuple(findings), length.value if length else None, least, equal, compared)


def _algorithm(wanted: Wanted, info: Mapping[str, object] | str) -> Finding:
    if isinstance(info, str):
        return Finding("algorithm", Verdict.INCONCLUSIVE, f"/server_info: {info}")
    name = info.get("speculative_algorithm")
    if "speculative_algorithm" not in info:
        return Finding("algorithm", Verdict.INCONCLUSIVE, "/server_info says nothing of an algorithm")
    if name != "DDTREE":
        return Finding("algorithm", Verdict.REFUSED, f"the server speculates by {name or 'nothing'}, not by DDTREE")
    budget, block_size = _widths(info)
    if budget is None or block_size is None:
        return Finding("algorithm", Verdict.INCONCLUSIVE, "/server_info says DDTREE, but not its budget and block size")
    text = f"DDTREE with budget {budget} and block size {block_size}"
    if (budget, block_size) == (wanted.budget, wanted.block_size):
        return Finding("algorithm", Verdict.PASSED, text)
    expected = f"the spec wants budget {wanted.budget} and block size {wanted.block_size}"
    return Finding("algorithm", Verdict.REFUSED, f"the server runs {text}, but {expected}")


def _widths(info: Mapping[str, object]) -> tuple[int | None, int | None]:
    """Budget and block size.

    SGLang's arguments have no field for a plugin's budget: there `speculative_num_draft_tokens` is the verify width, budget + 1
    (sglang_ddtree/runtime/arguments.py). A server with a budget field of its own keeps the block size in it.
    """
    tokens, budget = _whole(info.get("speculative_num_draft_tokens")), _whole(info.get("speculative_ddtree_budget"))
    block_size = _whole(info.get("speculative_dflash_block_size"))
    if budget is not None:
        return budget, block_size if block_size is not None else tokens
    return (tokens - 1 if tokens is not None else None), block_size


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _answered(seen: Seen) -> Finding:
    wrong = [answer for answer in seen.answers if answer.problem]
    if wrong:
        details = tuple(f"{answer.prompt}: {answer.problem}" for answer in wrong)
        text = f"{len(wrong)} of {len(seen.answers)} requests failed; {details[0]}"
        return Finding("answers", Verdict.REFUSED, text, details)
    if len(seen.answers) < seen.asked:
        text = f"the time ran out after {len(seen.answers)} of {seen.asked} prompts"
        return Finding("answers", Verdict.INCONCLUSIVE, text)
    return Finding("answers", Verdict.PASSED, f"{seen.asked} prompts answered")


def _length(seen: Seen) -> tuple[_Length | None, Finding]:
    """The acceptance length of our own requests, as far as it can be told, and what the counters are worth."""
    grown, own = seen.growth, own_work(seen.answers)
    told = _Length(own.decoded, own.steps) if own.steps else None
    if isinstance(grown, NoGrowth):
        return told, Finding("counters", Verdict.INCONCLUSIVE, grown.reason)
    if own.decoded == 0:
        return None, Finding("counters", Verdict.INCONCLUSIVE, "no answer is longer than one token, so nothing was verified")
    if grown.committed == 0:
        text = f"the tree's counters stood still while {own.decoded} tokens were decoded"
        return told, Finding("counters", Verdict.REFUSED, text)
    foreign = grown.committed - own.decoded
    if foreign < -MOST_UNEXPLAINED * own.decoded:
        text = f"the counters grew by {grown.committed} tokens, our own requests decoded {own.decoded}: they miss some"
        return told, Finding("counters", Verdict.INCONCLUSIVE, text)
    if foreign > max(1, MOST_UNEXPLAINED * own.decoded):
        return told, _with_others(foreign, grown, told)
    return _alone(grown, told)


def _with_others(foreign: int, grown: Growth, told: _Length | None) -> Finding:
    others = f"other clients had {foreign / grown.committed:.0%} of {grown.committed} tokens"
    if told is None:
        return Finding("counters", Verdict.INCONCLUSIVE, f"{others}, and answers don't tell their own verify steps")
    return Finding("counters", Verdict.PASSED, f"counters move; {others}, so the length is that of our own answers' meta_info")


def _alone(grown: Growth, told: _Length | None) -> tuple[_Length | None, Finding]:
    if grown.steps == 0:
        return told, Finding("counters", Verdict.INCONCLUSIVE, "the counters tell of tokens, but of no verify step")
    counted = _Length(grown.committed, grown.steps)
    if told is not None and abs(counted.value - told.value) > AGREEMENT * told.value:
        text = f"the counters say {counted.value:.2f} tokens a step, the answers' meta_info {told.value:.2f}"
        return told, Finding("counters", Verdict.INCONCLUSIVE, text)
    aside = f", {grown.fallbacks} passes without a CUDA graph" if grown.fallbacks else ""
    return counted, Finding("counters", Verdict.PASSED, f"{grown.committed} tokens in {grown.steps} verify steps{aside}")


def _least_length(wanted: Wanted) -> float:
    recorded = wanted.recording.acceptance_length if wanted.recording else None
    return max(wanted.least_length, (recorded or 0.0) * wanted.recording_factor)


def _acceptance(length: _Length, least: float, wanted: Wanted) -> Finding:
    if length.steps < LEAST_STEPS:
        text = f"only {length.steps} verify steps: too few to judge a length by; at least {LEAST_STEPS} are needed"
        return Finding("acceptance", Verdict.INCONCLUSIVE, text)
    source = "the spec's least"
    if least > wanted.least_length and wanted.recording is not None:
        kind = wanted.recording.algorithm or "plain"
        source = f"{wanted.recording.acceptance_length or 0:.2f} of the recorded {kind} x {wanted.recording_factor:g}"
    if length.value < least:
        text = f"acceptance length {length.value:.2f} is below {least:.2f} ({source})"
        return Finding("acceptance", Verdict.REFUSED, text)
    return Finding("acceptance", Verdict.PASSED, f"acceptance length {length.value:.2f}, at least {least:.2f} ({source})")


def _equality(wanted: Wanted, seen: Seen) -> tuple[Finding | None, int | None, int | None]:
    if wanted.recording is None:
        return None, None, None
    found = compare(wanted.recording, seen.answers, wanted.prefix_tokens)
    if not found.compared:
        return Finding("equality", Verdict.INCONCLUSIVE, "no answer could be compared with a recorded one"), 0, 0
    text = f"{found.equal} of {found.compared} answers are the recorded ones over {wanted.prefix_tokens} tokens"
    if found.unstable:
        text += f" ({found.unstable} recorded ones were not steady and don't count)"
    least = max(min(LEAST_COMPARED, seen.asked), -(-seen.asked // 2))
    # So many differ that the others couldn't make up for them.
    hopeless = found.equal + seen.asked - found.compared < wanted.least_equal * seen.asked
    if found.compared < least and not hopeless:
        text = f"only {text}; of {seen.asked} prompts at least {least} must be comparable"
        return Finding("equality", Verdict.INCONCLUSIVE, text, found.differences), found.equal, found.compared
    if found.equal < wanted.least_equal * found.compared:
        text += f"; at least {wanted.least_equal:.0%} must be"
        return Finding("equality", Verdict.REFUSED, text, found.differences), found.equal, found.compared
    return Finding("equality", Verdict.PASSED, text, found.differences), found.equal, found.compared
