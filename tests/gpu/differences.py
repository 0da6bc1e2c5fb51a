"""Greedy texts compared token by token; a difference counts as a tie only if the plain server says so itself.

bfloat16 logits between 8 and 16 are 1/16 apart, between 16 and 32 1/8, and hidden states are rounded in every layer: on the
trained pair a bfloat16 pass moves the distance of the two best logits by up to 0.28 nats against float32 in 99 of 100 places,
0.44 at most (800 places of text that the target does not know). Two passes by different kernels may differ by both. A tie is
therefore: both tokens are less than `TIE` nats below the plain server's best one, which may have more than one rival. The widest
tie is reported, DFLASH's too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.gpu.client import Choice

TIE = 0.5

Continue = Callable[[Sequence[Sequence[int]], int], list[tuple[int, ...]]]
Choose = Callable[[Sequence[int]], Choice]


@dataclass(frozen=True, slots=True)
class Difference:
    """At `position` of the new text of prompt number `prompt`: plain decoding took `plain`, the other one `other`."""

    prompt: int
    position: int
    plain: int
    other: int
    gap: float
    tie: bool


def judge(prompt: int, position: int, plain: int, other: int, choice: Choice) -> Difference:
    """A difference with the distance of the worse of the two tokens from the best one, infinite if one isn't in `choice`."""
    below = {token: choice.logprobs[0] - logprob for token, logprob in zip(choice.tokens, choice.logprobs, strict=True)}
    gap = max(below.get(token, float("inf")) for token in (plain, other))
    return Difference(prompt, position, plain, other, gap, gap < TIE)


def first_difference(plain: Sequence[int], other: Sequence[int]) -> int | None:
    """Where two texts part; the end of the shorter one if it is the other's beginning; None if they are the same."""
    for position, (one, two) in enumerate(zip(plain, other, strict=False)):
        if one != two:
            return position
    return None if len(plain) == len(other) else min(len(plain), len(other))


def compare_texts(
    prompts: Sequence[Sequence[int]], plain: Sequence[Sequence[int]], ask: Continue, choose: Choose
) -> list[Difference]:
    """Every token of `plain` compared with what `ask` continues: after a difference, the comparison goes on behind it.

    `ask(prompts, tokens)` continues all prompts greedily by at most `tokens` tokens; `choose(prompt)` is the plain server's
    view of the next token. A text that ends early differs with token -1.
    """
    found: list[Difference] = []
    done = [0] * len(prompts)
    while open_ones := [number for number, text in enumerate(plain) if done[number] < len(text)]:
        longest = max(len(plain[number]) - done[number] for number in open_ones)
        answers = ask([[*prompts[number], *plain[number][: done[number]]] for number in open_ones], longest)
        for number, answer in zip(open_ones, answers, strict=True):
            wanted = plain[number][done[number] :]
            parting = first_difference(wanted, answer[: len(wanted)])
            if parting is None:
                done[number] = len(plain[number])
                continue
            place = done[number] + parting
            choice = choose([*prompts[number], *plain[number][:place]])
            other = answer[parting] if parting < len(answer) else -1
            found.append(judge(number, place, plain[number][place], other, choice))
            done[number] = place + 1
    return found
