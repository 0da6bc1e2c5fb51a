"""One rank noticed that another one is gone: a consequence wherever the other one's failure is known."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# Gloo (transport/tcp/pair.cc, unbound_buffer.cc), torch's ProcessGroupGloo.cpp, TCPStore.cpp and socket.h, NCCL's
# ncclRemoteError, SGLang's model_runner.py 0.5.13.post1
_PEER = re.compile(
    r"gloo/transport/[^\n]{1,400}?(?:Connection (?:closed|reset) by peer|(?:Read|Write) (?:timeout|error)"
    r"|Timed out waiting \d{1,12} ?ms for (?:recv|send))"
    r"|Application timeout caused pair closure"
    r"|ncclRemoteError|remote process exited or there was a network error"
    r"|there are other ranks that didn't finish loading"
    r"|(?:successfully reached monitoredBarrier, but received errors|failed to pass monitoredBarrier)"
    r"|Connection (?:closed|reset) by (?:remote )?peer[^\n]{0,300}?(?:rank|NCCL|store)"
    r"|waiting for clients\. \d{1,6}/\d{1,6} clients joined|retrieving ncclUniqueId from \[\d{1,6}\] via c10d key-value store"
    r"|(?:sendBytes|recvBytes|recvVector|recvValue) failed on SocketImpl|failed to recv, got 0 bytes"
)

# The kernel closed the other end: that process is gone, it didn't only fall behind.
_VANISHED = re.compile(r"Connection (?:closed|reset) by (?:remote )?peer|remote process exited")

# Rank 0 knows who didn't come; the others only know that rank 0 broke off.
_MISSING = re.compile(r"Ranks? (?P<ranks>\d{1,6}(?:, \d{1,6}){0,1024}) failed to pass monitoredBarrier")
_WAITED_FOR = re.compile(r"received errors while waiting for send/recv from rank (?P<ranks>\d{1,6})\b")


def says_vanished(message: str) -> bool:
    """Whether the peer's process is gone, by the message of a rank that lost it."""
    return bool(_PEER.search(message) and _VANISHED.search(message))


def match(context: Context) -> Finding | None:
    """Gloo, NCCL or SGLang say that another rank doesn't answer."""
    if context.search(_PEER) is None:
        return None
    missing, waited = context.search(_MISSING), context.search(_WAITED_FOR)
    if missing:
        who = _named(missing["ranks"])
        told = f" It waited in vain for {who}."
        first = f"Look at {who}: read what it printed before, and where it stands now (py-spy)."
    elif waited:
        who = _named(waited["ranks"])
        told = f" It waited for {who}, which broke off or didn't come: the cause is {who}'s, or another rank's that {who} names."
        first = f"Read {who}'s log: it names the rank that didn't come, or has an error of its own."
    else:
        told = ""
        first = "Find the rank that failed first: the one with another error, or with no last word at all."
    return Finding(
        kind=Kind.PEER_RANK_FAILED,
        title=f"Another rank failed; suspect: {_named(missing['ranks'])}" if missing else _title(waited),
        cause=f"This rank lost its connection to another rank, or waited for it in vain; it isn't where the failure began.{told}",
        fixes=(first,),
        confidence=Confidence.LOW if waited and not missing else Confidence.LIKELY,
    )


def _title(waited: re.Match[str] | None) -> str:
    return f"Another rank failed; suspect: {_named(waited['ranks'])}" if waited else "Another rank is gone"


def _named(ranks: str) -> str:
    return f"ranks {ranks}" if "," in ranks else f"rank {ranks}"


SIGNATURE = Signature(match)
