"""Tensor sizes that don't fit, where it isn't the token count of a captured graph."""

from __future__ import annotations

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.numbers import explain
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.sizes import Mismatch, read_mismatch, tells_of_shapes

_ERRORS = frozenset(
    {"RuntimeError", "ValueError", "AssertionError", "Exception", "IndexError", "TorchRuntimeError", "InternalError", "Error"}
)


def match(context: Context) -> Finding | None:
    """Says what differs and where; why is not known."""
    if context.ending.type.rsplit(".", 1)[-1] not in _ERRORS:
        return None
    sizes = next((found for item in context.block.exceptions if (found := read_mismatch(item.message))), None)
    if sizes is None:
        return _unnamed(context) if tells_of_shapes(context.ending.message) else None
    return Finding(
        kind=Kind.TENSOR_SHAPE_BUG,
        title=f"Tensor sizes {sizes.into} and {sizes.source} don't fit",
        cause=_cause(sizes, _where(context)),
        fixes=_fixes(context),
        confidence=Confidence.LOW,
        numbers=tuple(
            number
            for value in (sizes.into, sizes.source)
            for number in explain(value, context.facts, context.frames, tell_unknown=False)
        ),
    )


def _cause(sizes: Mismatch, where: str) -> str:
    if sizes.product:
        return f"A matrix product{where} was given width {sizes.into}, but its weight is for width {sizes.source}."
    at = "" if sizes.dimension is None else f" at dimension {sizes.dimension}"
    return f"Sizes {sizes.into} and {sizes.source} meet{at}{where}."


def _unnamed(context: Context) -> Finding:
    said = " ".join(context.ending.message.split())[:200]
    return Finding(
        kind=Kind.TENSOR_SHAPE_BUG,
        title="Tensor shapes don't fit",
        cause=f"Shapes don't fit{_where(context)}: {said}",
        fixes=_fixes(context),
        confidence=Confidence.LOW,
    )


def _where(context: Context) -> str:
    own = [frame for frame in context.frames if frame.in_app]
    frame = own[-1] if own else context.frames[-1] if context.frames else None
    return f" in {frame.function} ({frame.file.rsplit('/', 1)[-1]})" if frame else ""


def _fixes(context: Context) -> tuple[str, ...]:
    fixes = ["Look for a later SGLang release that fixes this place."]
    files = {frame.file for frame in context.all_frames}
    if any("graph" in file for file in files):
        fixes.append("--disable-cuda-graph shows whether the captured graph's inputs are at fault.")
    if any("/speculative/" in file for file in files):
        fixes.append("Without --speculative-algorithm once: if it stays away, it is the draft's or the verify pass's shape.")
    if "mem-fraction-static" in context.ending.message:
        fixes.append("The advice about --mem-fraction-static in the message is general: no memory was short.")
    return tuple(fixes)


SIGNATURE = Signature(match)
