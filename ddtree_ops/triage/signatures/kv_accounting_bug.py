"""SGLang's own check of its KV slots doesn't add up."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding, Number
from ddtree_ops.triage.numbers import Facts
from ddtree_ops.triage.signatures.context import Context, Signature

# SGLang 0.4.5 to 0.5.13: managers/scheduler.py, later scheduler_components/invariant_checker.py: "token_to_kv_pool_allocator
# memory leak detected!", "pool memory leak detected!", "Full Pool Mem Leak Detected!", "req_to_token_pool memory leak detected!"
_LEAK = re.compile(r"\b(?:[Mm]em(?:ory)?|pool) [Ll]eak [Dd]etected")
_POOL = re.compile(r"[A-Za-z]\w{0,60}(?: Pool)?\s?$")
_COUNTED = re.compile(
    r"\[(?P<pool>\w{1,60})\] total=(?P<total>\d{1,18}), available=(?P<available>\d{1,18}), evictable=(?P<evictable>\d{1,18}),"
    r" protected=(?P<protected>\d{1,18})(?:, session_held=(?P<session>\d{1,18}))?(?:, uncached=(?P<uncached>\d{1,18}))?"
)
_PARTS = ("available", "evictable", "protected", "session", "uncached")


def match(context: Context) -> Finding | None:
    """One of the leak checks, raised while idle (always) or busy (where switched on)."""
    found = context.first(_LEAK)
    if found is None:
        return None
    named = _POOL.search(found[0].message[max(0, found[1].start() - 70) : found[1].start()])
    pool = named.group().strip() if named else "KV cache"
    numbers, difference = _count(found[0].message)
    return Finding(
        kind=Kind.KV_ACCOUNTING_BUG,
        title=f"SGLang lost count of its slots ({pool})",
        cause=f"The slots of the pool ({pool}) that SGLang knows to be free, cached or in use don't add up to its"
        f" size{difference}:"
        " an error in its bookkeeping, not a lack of memory.",
        fixes=_fixes(context.facts),
        confidence=Confidence.CERTAIN,
        numbers=numbers,
    )


def _count(message: str) -> tuple[tuple[Number, ...], str]:
    """The first pool whose parts aren't its total."""
    for found in _COUNTED.finditer(message[:8000]):
        total, parts = int(found["total"]), sum(int(found[name] or 0) for name in _PARTS)
        if parts != total:
            kind = "missing" if parts < total else "counted twice"
            numbers = (
                Number(total, f"slots of pool {found['pool']}", "message"),
                Number(parts, "slots accounted for", "message"),
            )
            return numbers, f" ({parts} of {total}, {abs(total - parts)} {kind})"
    return (), ""


def _fixes(facts: Facts) -> tuple[str, ...]:
    fixes = []
    algorithm, page = facts.server_args.get("speculative_algorithm"), facts.integer("page_size")
    if algorithm and page and page > 1:
        fixes.append(f"Use --page-size 1: speculative decoding with pages of {page} has often been the reason.")
    elif algorithm:
        fixes.append("Without speculative decoding once: if it stays away, the draft's slots are what is lost.")
    fixes.append("--disable-radix-cache takes the prefix cache, where slots are shared, out of the game.")
    fixes.append(
        "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE=0 makes it a warning: the server stays up, the lost slots stay lost until"
        " the next"
        " restart."
    )
    return tuple(fixes)


SIGNATURE = Signature(match)
