"""Requests and batches as the scheduler keeps them, the same on every rank."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sglang.simulation.language import EOS, Continuation, decode


class ForwardMode(Enum):
    """What a forward pass does."""

    EXTEND = "extend"
    DECODE = "decode"
    TARGET_VERIFY = "target_verify"


@dataclass
class Req:
    """One request. `text` goes on by `continuation`; `stop` are texts that end it."""

    rid: str
    prompt: list[int]
    max_new_tokens: int
    stop: tuple[str, ...]
    ignore_eos: bool
    continuation: Continuation
    phase: str
    output: list[int] = field(default_factory=list)
    finish_reason: dict[str, Any] | None = None
    verify_ct: int = 0
    correct_drafts: int = 0
    cached: int = 0
    arrived: float = field(default_factory=time.monotonic)
    queue_time: float = 0.0

    @classmethod
    def from_message(cls, message: Mapping[str, Any], *, wrong_answers: bool, parts_at: int | None = None) -> Req:
        """A request as the tokenizer manager sends it."""
        prompt = list(message["input_ids"])
        return cls(
            rid=message["rid"],
            prompt=prompt,
            max_new_tokens=message["max_new_tokens"],
            stop=tuple(message["stop"]),
            ignore_eos=message["ignore_eos"],
            continuation=Continuation(prompt, wrong=wrong_answers, parts_at=parts_at),
            phase=message["phase"],
        )

    def leave_queue(self) -> None:
        """It is in a batch now: how long it has waited for that."""
        self.queue_time = time.monotonic() - self.arrived

    def target_token(self, position: int) -> int:
        """What the target model says at a position after the prompt."""
        return self.continuation.token_at(position, ignore_eos=self.ignore_eos)

    def append(self, token: int) -> None:
        """Commit one token and note whether it ends the request."""
        if self.finish_reason is not None:
            return
        self.output.append(token)
        if token == EOS:
            self.finish_reason = {"type": "stop", "matched": EOS}
        elif self.stop and (matched := self._matched_stop()) is not None:
            self.finish_reason = {"type": "stop", "matched": matched}
        elif len(self.output) >= self.max_new_tokens:
            self.finish_reason = {"type": "length", "length": self.max_new_tokens}

    def _matched_stop(self) -> str | None:
        tail = decode(self.output[-64:])
        return next((text for text in self.stop if text in tail), None)


@dataclass(frozen=True)
class ScheduleBatch:
    """Requests that one forward pass serves."""

    reqs: tuple[Req, ...]
    forward_mode: ForwardMode

    def batch_size(self) -> int:
        """Number of requests."""
        return len(self.reqs)


@dataclass(frozen=True)
class ForwardBatch:
    """Input of one pass: per request `num_tokens_per_bs` tokens, one after the other, each with its position."""

    reqs: tuple[Req, ...]
    forward_mode: ForwardMode
    input_ids: list[int]
    positions: list[int]
    num_tokens_per_bs: int

    @property
    def batch_size(self) -> int:
        """Number of requests."""
        return len(self.reqs)


@dataclass(frozen=True)
class GenerationBatchResult:
    """Committed tokens per request, in order, and whether a captured graph ran."""

    next_token_ids: tuple[tuple[int, ...], ...]
    can_run_cuda_graph: bool
    num_correct_drafts: tuple[int, ...] = ()
