"""The exceptions of tracebacks that stand within messages, put before the exception that quotes them."""

from __future__ import annotations

from ddtree_ops.triage.block import Relation
from ddtree_ops.triage.blocks.chain import Chain, Verdict
from ddtree_ops.triage.blocks.draft import Draft
from ddtree_ops.triage.blocks.frames import HEADER
from ddtree_ops.triage.blocks.quotes import RAY_HEADER

_DEPTH = 3


def with_quoted(drafts: list[Draft], depth: int = 0) -> list[Draft]:
    """All exceptions; what a message quotes is the cause of the exception whose message it is."""
    found: list[Draft] = []
    for draft in drafts:
        inner = with_quoted(_read(draft.message), depth + 1) if draft.quotes and depth < _DEPTH else []
        if inner:
            inner[0].relation = draft.relation
            draft.relation = Relation.CAUSE
            for item in inner:
                item.parent = item.parent or draft.parent
        found += [*inner, draft]
    return found


def _read(message: list[str]) -> list[Draft]:
    chain: Chain | None = None
    for line in message:
        is_header = line.rstrip().endswith(HEADER) or RAY_HEADER.match(line) is not None
        if chain is None:
            chain = Chain(drawn="+ Exception Group" in line) if is_header else None
        elif line.strip() == '"""' or chain.take(HEADER if is_header else line) is Verdict.OVER:
            break
    return [draft for draft in chain.drafts if draft.type or draft.frames] if chain else []
