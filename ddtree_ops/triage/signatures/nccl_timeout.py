"""A collective of NCCL didn't end in time, by the watchdog of PyTorch's process group."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, FailurePhase, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.nccl_init_hang import init_hang

# torch 2.0 to 2.14, ProcessGroupNCCL.cpp: checkTimeout; before 2.1 the group has no number
_TIMEOUT = re.compile(
    r"(?:Rank (?P<rank>\d{1,6})\] )?Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<number>\d{1,12}),"
    r" OpType=(?P<operation>\w{1,60}).{0,300}?Timeout\(ms\)=(?P<timeout>\d{1,12})"
)
_OTHER = re.compile(r"Watchdog caught collective operation timeout|Heartbeat monitor timed out!|watchdog got stuck for \d")

_FIXES = (
    "Find the rank that is behind: the one whose log ends first, or whose last enqueued work has the lowest number; look there"
    " for an error, and with py-spy for where it stands.",
    "Look for the GPU's and NVLink's errors in the kernel's log of that time (journalctl -k, Xid).",
    "Only if every rank was healthy and one of them merely slow: raise the timeout (--dist-timeout).",
)


def match(context: Context) -> Finding | None:
    """The watchdog names the operation, its number and the limit; whose fault it was it can't know."""
    found = context.search(_TIMEOUT)
    if found is None and context.search(_OTHER) is None:
        return None
    if context.phase is FailurePhase.DISTRIBUTED_INIT:
        return init_hang(_cause(found))
    return Finding(
        kind=Kind.NCCL_TIMEOUT,
        title=f"NCCL {_operation(found)} never ended",
        cause=_cause(found),
        fixes=_FIXES,
        confidence=Confidence.LIKELY,
    )


def _operation(found: re.Match[str] | None) -> str:
    return found["operation"].strip("_").lower().removesuffix("_base") if found else "collective"


def _cause(found: re.Match[str] | None) -> str:
    if found is None:
        return "A collective of NCCL didn't end in time: a rank didn't take part, or the connection between GPUs stands still."
    who = f"Rank {found['rank']}" if found["rank"] else "A rank"
    seconds = int(found["timeout"]) / 1000
    return (
        f"{who} waited {seconds:g} s for collective number {found['number']} ({found['operation']}): at least one other rank"
        " didn't take part in it, or the connection between GPUs stands still. The rank that reports isn't the one at fault."
    )


SIGNATURE = Signature(match)
