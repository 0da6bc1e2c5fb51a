"""A library holds no code for this GPU."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# CUDA's text and names of error 209
_IMAGE = re.compile(
    r"no kernel image is available for execution on the device|\bcudaErrorNoKernelImageForDevice\b"
    r"|\bCUDA_ERROR_NO_BINARY_FOR_GPU\b"
)


def match(context: Context) -> Finding | None:
    """CUDA error 209, in an exception or on stderr."""
    if context.search(_IMAGE) is None:
        return None
    frame = next((item for item in reversed(context.frames) if item.in_app), None)
    where = f" (called from {frame.file.rsplit('/', 1)[-1]}:{frame.line})" if frame else ""
    return Finding(
        kind=Kind.NO_KERNEL_IMAGE,
        title="A library has no kernels for this GPU",
        cause=f"A kernel library was built without code for this GPU's architecture{where}.",
        fixes=(
            "Install builds of torch, sgl-kernel and flashinfer for this GPU (CUDA 13 wheels hold sm_100, sm_103 and sm_120).",
            "If only the draft model or one back-end fails: choose another attention back-end for it (not fa3 on Blackwell).",
        ),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match)
