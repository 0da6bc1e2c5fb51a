"""NCCL failed in a call to the system, to CUDA, or in itself."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, FailurePhase, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# torch's NCCLUtils.cpp and vLLM's pynccl name NCCL's result; the last error follows where NCCL has one (nccl.h)
_ERROR = re.compile(
    r"(?:ncclUnhandledCudaError|ncclSystemError|ncclInternalError)\b"
    r"|NCCL error[^\n]{0,300}?(?:unhandled (?:system|cuda) error|internal error)"
)
_LAST = re.compile(r"Last error: ?\n?(?P<text>[^\n]{1,300})")
_WARNING = re.compile(r"NCCL WARN (?P<text>[^\n]{1,300})")
# NCCL's own buffers come on top of what the server has reserved
_MEMORY = re.compile(r"Failed to CUDA (?:calloc|host alloc|malloc)|Cuda failure(?: \d{1,4})? '?out of memory", re.IGNORECASE)


def match(context: Context) -> Finding | None:
    """What NCCL's last error or warning says is the cause as far as it is known."""
    if context.search(_ERROR) is None and not (context.block.lines and context.search(_MEMORY)):
        return None
    if context.search(_MEMORY):
        return _memory(context.phase)
    warned = context.search(_WARNING) or context.printed_before(_WARNING)
    told = context.search(_LAST) or warned
    ask = "shows the steps that led there" if warned else "then says which call failed"
    return Finding(
        kind=Kind.NCCL_SYSTEM_ERROR,
        title="NCCL failed",
        cause=f"NCCL failed: {told['text'].strip()}" if told else None,
        fixes=(
            f"Start once with NCCL_DEBUG={'INFO' if warned else 'WARN (or INFO)'}: NCCL {ask}.",
            "Usual suspects: the network interface (NCCL_SOCKET_IFNAME), open file and locked memory limits, an NCCL library"
            " of another CUDA version.",
        ),
        confidence=Confidence.LIKELY if told else Confidence.LOW,
    )


def _memory(phase: FailurePhase) -> Finding:
    early = phase in (FailurePhase.DISTRIBUTED_INIT, FailurePhase.WEIGHTS)
    return Finding(
        kind=Kind.OOM_WEIGHTS if early else Kind.OOM_RUNTIME,
        title="NCCL found no GPU memory for its buffers",
        cause="NCCL allocates its buffers beside the server's static share of GPU memory, and there was nothing left for them.",
        fixes=("Lower --mem-fraction-static by 0.02.", "Look for other processes on the GPU (nvidia-smi)."),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match)
