"""A kernel touched memory that isn't its own, or died without saying why; reported at a later call."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# CUDA 13's texts of cudaErrorIllegalAddress (700), MisalignedAddress (716), LaunchFailure (719), IllegalInstruction (715),
# InvalidPc (718), HardwareStackError (714), and the driver's names of them
_ACCESS = re.compile(
    r"an illegal memory access was encountered|misaligned address|an illegal instruction was encountered|invalid program counter"
    r"|hardware stack error|\bcudaError(?:IllegalAddress|MisalignedAddress|IllegalInstruction|InvalidPc)\b"
    r"|\bCUDA_ERROR_(?:ILLEGAL_ADDRESS|MISALIGNED_ADDRESS|ILLEGAL_INSTRUCTION|INVALID_PC)\b"
)
_LAUNCH = re.compile(r"unspecified launch failure|\bcudaErrorLaunchFailure\b|\bCUDA_ERROR_LAUNCH_FAILED\b")
_BARRIER = re.compile(r"CTA Not Present|CUDBG_EXCEPTION_CLUSTER_BLOCK_NOT_PRESENT")
_WATCHDOG = re.compile(r"watchdog thread terminated with exception")

_FIXES = (
    "Find the kernel: start once with CUDA_LAUNCH_BLOCKING=1 and without CUDA graphs (--disable-cuda-graph); then the stack is"
    " true. CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 or compute-sanitizer names the kernel itself.",
    "If it happens on one GPU only: look at the kernel's log (journalctl -k) for Xid errors of that GPU.",
    "Try another attention, MoE or sampling back-end, or a release with the kernel's fix.",
)
#: For a kernel of two blocks that lost one of them; SGLang 0.5.13.post1 has no argument to choose another kernel by.
PARTNER_FIX = "On sm_103 (B300): deploy a newer SGLang, one that has its PR 32954."


def match(context: Context) -> Finding | None:
    """CUDA's error, wherever it came to light."""
    access, launch = context.search(_ACCESS), context.search(_LAUNCH)
    barrier = context.search(_BARRIER)
    if access is None and launch is None and barrier is None:
        return None
    if barrier:
        return _barrier()
    what = "touched memory that isn't its own" if access else "failed while it ran"
    noticed = (
        "the NCCL watchdog only noticed it"
        if _WATCHDOG.search(context.ending.message)
        else "the call that reports it is a later one"
    )
    return Finding(
        kind=Kind.CUDA_ILLEGAL_ACCESS,
        title="Illegal memory access in a GPU kernel" if access else "A GPU kernel failed",
        cause=f"A kernel on the GPU {what}. CUDA reports this asynchronously: {noticed}, so the stack doesn't show the kernel.",
        fixes=_FIXES,
        confidence=Confidence.LIKELY,
    )


def _barrier() -> Finding:
    return Finding(
        kind=Kind.CUDA_ILLEGAL_ACCESS,
        title="A GPU kernel of two blocks lost its partner",
        cause="A BF16 matrix kernel of two cooperating blocks ended one of them while the other still used its memory"
        " (known of sm_103, B300).",
        fixes=(PARTNER_FIX,),
        confidence=Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
