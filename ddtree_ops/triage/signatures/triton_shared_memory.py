"""A Triton kernel that wants more of a multiprocessor's memory than this GPU has. It has nothing to do with GPU memory."""

from __future__ import annotations

import re

from ddtree_ops.fleet.hardware import B300_8X, RTX_PRO_6000_8X
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding, Number
from ddtree_ops.triage.signatures.context import Context, Signature

# triton 2 to 3.8, runtime/errors.py
_MESSAGE = re.compile(
    r"out of resources?: (?P<what>shared memory|tensor memory|threads|registers)(?:, Required: (?P<needs>\d{1,12}), Hardware"
    r" limit: (?P<has>\d{1,12}))?"
)
_MOE = re.compile(r"fused_moe|moe_kernel|_moe_")


def match(context: Context) -> Finding | None:
    """Triton's OutOfResources."""
    found = context.first(_MESSAGE)
    if found is None:
        return None
    what, needs, has = found[1]["what"], found[1]["needs"], found[1]["has"]
    kernel = _kernel(context)
    amounts = (
        f" {needs} bytes of {what}, and this GPU has {has}"
        if needs and what.endswith("memory")
        else f" more {what} than this GPU has"
    )
    numbers = (
        (Number(int(needs), f"{what} that the kernel needs", "message"), Number(int(has), f"{what} of this GPU", "message"))
        if needs
        else ()
    )
    return Finding(
        kind=Kind.TRITON_SHARED_MEMORY,
        title=f"A Triton kernel needs too much {what}",
        cause=f"The tile sizes of {kernel} are made for another GPU: it wants{amounts}.",
        fixes=_fixes(context, has),
        confidence=Confidence.CERTAIN,
        numbers=numbers,
    )


def _kernel(context: Context) -> str:
    """The application's frame that launched it."""
    own = [frame for frame in context.frames if frame.in_app and frame.function]
    return f"the Triton kernel launched in {own[-1].function}" if own else "a Triton kernel"


def _fixes(context: Context, has: str | None) -> tuple[str, ...]:
    stack = " ".join(f"{frame.file} {frame.function} {frame.code or ''}" for frame in context.frames)
    small, large = RTX_PRO_6000_8X.shared_memory_bytes, B300_8X.shared_memory_bytes
    blackwell = f" (sm_120 has {small} bytes, the data centre parts {large})" if has == str(small) else ""
    if _MOE.search(stack):
        first = (
            "Put a tuned MoE table for this device's name into SGLang's configs (benchmark/kernels/fused_moe_triton), or"
            " choose another --moe-runner-backend."
        )
    elif "attention" in stack:
        first = "Choose --attention-backend flashinfer, or an SGLang whose Triton attention knows this GPU's limit."
    else:
        first = "Choose another back-end for this layer, or an SGLang whose kernel knows this GPU's limit."
    return (first + blackwell, "It isn't GPU memory: --mem-fraction-static changes nothing.")


SIGNATURE = Signature(match)
