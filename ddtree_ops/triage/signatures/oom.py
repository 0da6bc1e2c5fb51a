"""GPU memory ran out; which kind depends on what the memory was for."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Device
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, FailurePhase, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# torch 2.11, c10/cuda/CUDACachingAllocator.cpp; SGLang wraps it while it captures graphs
_MESSAGE = re.compile(r"CUDA out of memory\.(?: Tried to allocate (?P<size>[\d.]+ \w+)\.)?(?: GPU (?P<gpu>\d+) )?")

_BY_PHASE = {
    FailurePhase.DISTRIBUTED_INIT: Kind.OOM_WEIGHTS,
    FailurePhase.WEIGHTS: Kind.OOM_WEIGHTS,
    FailurePhase.GRAPH_CAPTURE: Kind.OOM_GRAPH_CAPTURE,
}
_WHEN = {
    FailurePhase.DISTRIBUTED_INIT: "before the weights were loaded",
    FailurePhase.WEIGHTS: "while the weights were loaded",
    FailurePhase.KV_CACHE: "while the KV cache was allocated",
    FailurePhase.GRAPH_CAPTURE: "while CUDA graphs were captured",
    FailurePhase.UNKNOWN: "",
}
_FIXES = {
    Kind.OOM_WEIGHTS: (
        "Spread the weights over more GPUs (--tp-size), or use a quantized checkpoint; --mem-fraction-static doesn't help here.",
        "Look for other processes on the GPU (nvidia-smi).",
    ),
    Kind.OOM_GRAPH_CAPTURE: ("Lower --mem-fraction-static or --cuda-graph-max-bs.",),
    Kind.OOM_RUNTIME: ("Lower --chunked-prefill-size, --max-running-requests or --mem-fraction-static.",),
}


def match(context: Context) -> Finding | None:
    """torch's allocator gave up, itself or quoted by "Capture cuda graph failed"."""
    found = context.first(_MESSAGE)
    if found is None and "OutOfMemoryError" not in context.ending.type:
        return None
    message = found[1] if found else None
    kind = _BY_PHASE.get(context.phase, Kind.OOM_RUNTIME)
    if "Capture cuda graph failed" in context.ending.message:
        kind = Kind.OOM_GRAPH_CAPTURE
    phase = FailurePhase.GRAPH_CAPTURE if kind is Kind.OOM_GRAPH_CAPTURE else context.phase
    when = _WHEN.get(phase, "while the server ran")
    gpu = message["gpu"] if message else None
    size = message["size"] if message else None
    where = f"GPU {gpu}" if gpu else "The GPU"
    asked = f" ({size} asked for)" if size else ""
    return Finding(
        kind=kind,
        title=f"GPU memory ran out {when}".rstrip(),
        cause=f"{where} had no memory left {when}".rstrip() + f"{asked}.",
        fixes=_FIXES[kind],
        confidence=Confidence.CERTAIN if context.phase is not FailurePhase.UNKNOWN else Confidence.LIKELY,
        devices=(Device(int(gpu)),) if gpu else (),
    )


SIGNATURE = Signature(match)
