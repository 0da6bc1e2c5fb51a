"""One rank noticed that another one is gone: a consequence wherever the other one's failure is known."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_PEER = re.compile(
    r"gloo/transport/\S+.*?Connection (?:closed|reset) by peer"
    r"|gloo/transport/\S+.*?(?:Read|Write) (?:timeout|error)"
    r"|ncclRemoteError|remote process exited or there was a network error"
    r"|there are other ranks that didn't finish loading"
    r"|(?:successfully reached monitoredBarrier, but received errors|failed to pass monitoredBarrier)"
    r"|Connection (?:closed|reset) by (?:remote )?peer.*?(?:rank|NCCL|store)",
    re.DOTALL,
)

# The kernel closed the other end: that process is gone, it didn't only fall behind.
_VANISHED = re.compile(r"Connection (?:closed|reset) by (?:remote )?peer|remote process exited")


def says_vanished(message: str) -> bool:
    """Whether the peer's process is gone, by the message of a rank that lost it."""
    return bool(_PEER.search(message) and _VANISHED.search(message))


def match(context: Context) -> Finding | None:
    """Gloo, NCCL or SGLang say that another rank doesn't answer."""
    if context.first(_PEER) is None:
        return None
    return Finding(
        kind=Kind.PEER_RANK_FAILED,
        title="Another rank is gone",
        cause="This rank lost its connection to another rank, or waited for it in vain; it isn't where the failure began.",
        fixes=("Find the rank that failed first: the one with another error, or with no last word at all.",),
        confidence=Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
