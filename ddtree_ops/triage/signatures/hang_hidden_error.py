"""A hang whose cause was printed before: one rank failed, lived on, and left the others waiting."""

from __future__ import annotations

from dataclasses import replace

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding

_FIX = "Look at this error, not at the hang: the watchdog only noticed that the ranks wait for each other."


def hidden(finding: Finding) -> Finding:
    """The finding of an error that came before a hang; a known kind keeps its name and its cause."""
    if finding.kind is not Kind.UNKNOWN:
        return finding
    return replace(
        finding,
        kind=Kind.HANG_HIDDEN_ERROR,
        cause=f"{finding.title} was printed before the server hung. Its process lived on; the others may wait for it ever since.",
        fixes=(_FIX,),
        confidence=Confidence.LIKELY,
    )
