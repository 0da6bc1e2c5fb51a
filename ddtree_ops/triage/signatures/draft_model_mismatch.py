"""A draft model that wasn't made for this target, or whose configuration isn't that of its weights."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding, Number
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through

# SGLang 0.5.13.post1, srt/models/dflash.py, load_weights
_FC = re.compile(
    r"DFLASH fc\.weight shape mismatch\..*?Expected fc\.weight\.shape=\((?P<rows>\d+), (?P<columns>\d+)\)"
    r" \(num_context_features=(?P<features>\d+), hidden_size=(?P<hidden>\d+)\), but got \((?P<got_rows>\d+), (?P<got>\d+)\)",
    re.DOTALL,
)
_PRODUCT = re.compile(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
_FIXES = (
    "Use the draft checkpoint that was trained for this target (same hidden size, same captured layers).",
    "If it is the right one, its config.json doesn't belong to its weights: fetch both again from the same revision.",
)


def match(context: Context) -> Finding | None:
    """The draft's fc.weight doesn't fit, or a matrix product inside the draft's own code."""
    found = context.first(_FC)
    if found:
        return _fc_finding(found[1])
    found = context.first(_PRODUCT)
    in_draft = passes_through(context.frames, file="/speculative/") and any("draft" in frame.file for frame in context.frames)
    if found is None or not in_draft:
        return None
    rows, width, expected, _ = (int(item) for item in found[1].groups())
    return Finding(
        kind=Kind.DRAFT_MODEL_MISMATCH,
        title=f"Draft model takes {expected} features, the target gives {width}",
        cause=f"Within the draft model a layer for inputs of width {expected} was given width {width}: the hidden sizes differ.",
        fixes=(*_FIXES, "Don't quantize the draft with the target's method."),
        confidence=Confidence.LIKELY,
        numbers=(Number(width, f"width of the input ({rows} rows)", "message"), Number(expected, "width expected", "message")),
    )


def _fc_finding(found: re.Match[str]) -> Finding:
    features, hidden, columns, got = (int(found[name]) for name in ("features", "hidden", "columns", "got"))
    numbers = [Number(columns, f"{features} context features x hidden size {hidden} = {columns}", "draft model's configuration")]
    has = f"{got} columns"
    if hidden and got % hidden == 0:
        numbers.append(Number(got, f"{got // hidden} context features x hidden size {hidden} = {got}", "draft checkpoint"))
        has = f"{got // hidden} (width {got})"
    return Finding(
        kind=Kind.DRAFT_MODEL_MISMATCH,
        title="Draft checkpoint doesn't fit its configuration",
        cause=f"The configuration asks for {features} context features (width {columns}) but the draft checkpoint's"
        f" fc.weight has {has}.",
        fixes=_FIXES,
        confidence=Confidence.CERTAIN,
        numbers=tuple(numbers),
    )


SIGNATURE = Signature(match)
