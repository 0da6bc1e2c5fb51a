"""Tensor sizes that don't fit, where it isn't the token count of a captured graph."""

from __future__ import annotations

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.numbers import explain
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.sizes import read_mismatch


def match(context: Context) -> Finding | None:
    """Says what differs and where; why is not known."""
    sizes = read_mismatch(context.ending.message)
    if sizes is None:
        return None
    frame = context.frames[-1] if context.frames else None
    where = f" in {frame.function} ({frame.file.rsplit('/', 1)[-1]})" if frame else ""
    return Finding(
        kind=Kind.TENSOR_SHAPE_BUG,
        title=f"Tensor sizes {sizes.into} and {sizes.source} don't fit",
        cause=f"Sizes {sizes.into} and {sizes.source} meet at dimension {sizes.dimension}{where}.",
        fixes=(
            "Look for a later SGLang release that fixes this place.",
            "If the stack goes through a CUDA graph, --disable-cuda-graph shows whether the graph's inputs are at fault.",
        ),
        confidence=Confidence.LOW,
        numbers=tuple(explain(sizes.into, context.facts) + explain(sizes.source, context.facts)),
    )


SIGNATURE = Signature(match)
