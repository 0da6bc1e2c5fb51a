"""The pool of KV slots, or of request slots, was empty when a batch needed some: SGLang ends then."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding, Number
from ddtree_ops.triage.signatures.context import Context, Signature

# SGLang 0.4 to 0.5.13: srt/mem_cache/common.py (before that managers/schedule_batch.py), srt/speculative/*.py
_TOKENS = re.compile(
    r"(?:(?:Prefill|Decode) out of memory|(?<![\w ])Out of memory)\. (?:Try to lower your batch size|Please set a smaller"
    r" number for)"
    r"|draft OOM when allocating (?P<draft>\d{1,18}) block tokens"
)
_REQUESTS = re.compile(
    r"alloc_req_slots runs out of memory|Out of memory\. Please set a smaller number for `--max-running-requests`"
)
_WANTED = re.compile(r"Try to allocate (?P<wanted>\d{1,18}) tokens")
_THERE = re.compile(r"Available(?: full)? tokens: (?P<there>\d{1,18})\b")


def match(context: Context) -> Finding | None:
    """SGLang's allocators found too few free slots, also after evicting what they could."""
    found = context.first(_REQUESTS)
    if found:
        return _of_requests()
    found = context.first(_TOKENS)
    return _of_tokens(found[0].message, found[1]["draft"]) if found else None


def _of_requests() -> Finding:
    return Finding(
        kind=Kind.KV_POOL_EXHAUSTED,
        title="No free request slots",
        cause="The scheduler took more requests into a batch than the pool of request slots has free.",
        fixes=("Lower --max-running-requests.", "If it comes back under light load, slots are lost: report it to SGLang."),
        confidence=Confidence.CERTAIN,
    )


def _of_tokens(message: str, draft: str | None) -> Finding:
    wanted, there = _WANTED.search(message), _THERE.search(message)
    asked = draft or (wanted["wanted"] if wanted else None)
    numbers = [Number(int(asked), "KV slots (tokens) asked for", "message")] if asked else []
    numbers += [Number(int(there["there"]), "KV slots (tokens) free or evictable", "message")] if there else []
    amounts = f": {asked} tokens asked for" if asked else ""
    amounts += f", {there['there']} available" if there else ""
    return Finding(
        kind=Kind.KV_POOL_EXHAUSTED,
        title="The KV cache is full",
        cause=f"A batch needed more KV slots than the pool could free{amounts}; this is the pool within GPU memory, not GPU"
        " memory itself.",
        fixes=(
            "Lower --max-running-requests, or raise --schedule-conservativeness so that fewer requests are admitted.",
            "Give the pool more room: higher --mem-fraction-static, or --kv-cache-dtype fp8_e4m3.",
            "With speculative decoding every request needs room for a whole draft on top: a smaller tree needs less.",
        ),
        confidence=Confidence.CERTAIN,
        numbers=tuple(numbers),
    )


SIGNATURE = Signature(match)
