"""The host's memory ran out, told by a program that couldn't get more of it, or by ray, which ended a worker before the kernel
had to."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# ray 1.x to 2.5x: exceptions.py, the raylet's memory monitor (src/ray/raylet/node_manager.cc)
_RAY = re.compile(
    r"killed due to the node running low on memory|(?:[Tt]asks?|[Aa]ctors?|[Ww]orkers?)[^\n]{0,80} killed due to memory pressure"
)
_USED = re.compile(r"was (?P<used>[\d.]{1,12} ?[GMT]i?B) / (?P<total>[\d.]{1,12} ?[GMT]i?B)")
# torch's c10/core/impl/alloc_cpu.cpp, numpy's _ArrayMemoryError, fork(2) and mmap(2) with ENOMEM
_REFUSED = re.compile(
    r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory)(?:: you tried to allocate (?P<bytes>\d{1,20}) bytes)?"
    r"|Unable to allocate (?P<size>[\d.]{1,12} ?[KMGTPE]iB) for an array|\[Errno 12\] Cannot allocate memory"
)
_TYPES = frozenset({"MemoryError", "ray.exceptions.OutOfMemoryError"})
_FIXES = (
    "Find what holds the memory: ps -eo rss,args --sort=-rss, and /dev/shm (df -h /dev/shm), which counts too.",
    "Give the host (or the container's limit) more memory, or load with fewer threads and processes and without CPU offload.",
)


def match(context: Context) -> Finding | None:
    """An exception of one of these types, or with their words."""
    ray = context.first(_RAY)
    refused = context.first(_REFUSED)
    typed = next((item for item in context.block.exceptions if item.type in _TYPES), None)
    if ray is None and refused is None and typed is None:
        return None
    if ray is None and (typed is None or not typed.type.startswith("ray.")):
        wanted = refused[1].groupdict() if refused else {}
        size = wanted.get("size") or (f"{int(wanted['bytes']):,} bytes" if wanted.get("bytes") else None)
        return _finding(
            "The host gave no more memory",
            f"The process asked for {size or 'more memory'} and didn't get it: either little was left, or more was asked for than"
            " there is.",
            Confidence.LIKELY,
        )
    used = context.first(_USED)
    level = f": {used[1]['used']} of {used[1]['total']} were used" if used else ""
    return _finding(
        "ray ended a worker: host memory ran low",
        f"The node's memory ran low{level}, and ray killed a worker for it.",
        Confidence.CERTAIN,
    )


def _finding(title: str, cause: str, confidence: Confidence) -> Finding:
    return Finding(Kind.HOST_OOM, title, cause, _FIXES, confidence)


SIGNATURE = Signature(match)
