"""Requests that DDTREE can't serve are answered with an error, one by one; the server goes on."""

from __future__ import annotations

import sys
from typing import Any

_SCHEDULER = "sglang.srt.managers.scheduler"


def reject(request: Any) -> str | None:
    """Why this request can't be served, or None. `request` is SGLang's Req."""
    if request.return_logprob:
        return "DDTREE speculative decoding does not return logprobs. Fix: leave out logprobs, or use a server without it."
    if request.custom_logit_processor:
        return (
            "DDTREE speculative decoding does not run custom logit processors: they expect one row of logits per request. "
            "Fix: leave out custom_logit_processor, or use a server without it."
        )
    parameters = request.sampling_params
    constraints = (parameters.json_schema, parameters.regex, parameters.ebnf, parameters.structural_tag)
    if any(constraint is not None for constraint in constraints):
        return (
            "DDTREE speculative decoding does not support grammar-constrained decoding (json_schema, regex, ebnf, "
            "structural_tag). Fix: leave out the constraint, or use a server without it."
        )
    return None


def is_penalised(request: Any) -> bool:
    """Whether the next token depends on those before by more than the model: frequency, presence or repetition penalty, or a
    minimum length not reached yet. `request` is SGLang's Req."""
    parameters = request.sampling_params
    return bool(
        parameters.frequency_penalty
        or parameters.presence_penalty
        or parameters.repetition_penalty != 1
        or parameters.min_new_tokens > len(request.output_ids)
    )


def install() -> None:
    """Let the scheduler of this process ask `reject` in place of DFLASH's check, which names another algorithm.

    Raises RuntimeError where there is no such scheduler: requests would go unchecked.
    """
    scheduler = sys.modules.get(_SCHEDULER)
    if not hasattr(scheduler, "validate_dflash_request"):
        raise RuntimeError(f"DDTREE: {_SCHEDULER} isn't loaded in this process, or checks requests in another way")
    scheduler.validate_dflash_request = reject  # type: ignore[union-attr]
