"""A front end tells that its engine died: why, stands elsewhere."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import ParsedException
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# vLLM 0.2 to 0.11: engine/async_llm_engine.py, engine/multiprocessing, v1/engine/exceptions.py
_TYPE = re.compile(r"(?:^|\.)(?:Async|MQ)?EngineDeadError$|(?:^|\.)EngineGenerateError$")
_MESSAGE = re.compile(
    r"See (?:stack trace|root cause) above|Engine core initialization failed|background loop has (?:errored|stopped)"
    r"|engine_core.{0,40} died unexpectedly"
)


def is_engine_death(item: ParsedException) -> bool:
    """Whether an exception only tells that the engine is gone."""
    return bool(_TYPE.search(item.type) or _MESSAGE.search(item.message[:4000]))


def match(context: Context) -> Finding | None:
    """Nothing but such exceptions; with another one before them in the chain that one is the failure."""
    exceptions = context.block.exceptions
    if not exceptions or not all(is_engine_death(item) for item in exceptions):
        return None
    return Finding(
        kind=Kind.ENGINE_DEAD_SECONDARY,
        title="The engine died",
        cause="The front end found its engine dead; it isn't where the failure began.",
        fixes=("Look further up for the engine's own error, or for what killed it (kernel's log, OOM killer).",),
        confidence=Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
