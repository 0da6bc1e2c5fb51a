"""A draft model that wasn't made for this target, or whose configuration isn't that of its weights."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding, Number
from ddtree_ops.triage.signatures import weights_format_mismatch
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.sizes import read_mismatch
from ddtree_ops.triage.signatures.weight_loading import is_draft, loads_weights

# SGLang 0.5.13.post1, srt/models/dflash.py, load_weights and forward
_FC = re.compile(
    r"DFLASH fc\.weight shape mismatch\..{0,300}?Expected fc\.weight\.shape=\((?P<rows>\d{1,9}), (?P<columns>\d{1,9})\)"
    r" \(num_context_features=(?P<features>\d{1,9}), hidden_size=(?P<hidden>\d{1,9})\), but got \((?P<got_rows>\d{1,9}), "
    r"(?P<got>\d{1,9})\)",
    re.DOTALL,
)
_FEATURES = re.compile(
    r"DFLASH target_hidden feature dim mismatch\. Expected shape \[N, (?P<expected>\d{1,9})\].{0,200}?but got shape=\(\d{1,9}, "
    r"(?P<got>\d{1,9})\)",
    re.DOTALL,
)
# srt/speculative/dflash_{utils,worker}.py; vLLM, config/speculative.py
_CONFIGURED = re.compile(
    r"DFLASH (?:mask_token_id is outside the target vocab size|target_layer_ids contains an out-of-range layer id|config"
    r" mismatch)"
    r"|DFLASH requires (?:resolving a mask token id|draft num_hidden_layers)|DFLASH dflash_config\.\w{1,40} must be"
    r"|[Dd]raft(?: model)?(?:'s)? (?:and target|vocab)[^\n]{0,80}(?:vocab|size)[^\n]{0,60}(?:match|mismatch|same|differ)"
    r"|[Tt]arget and draft (?:model )?(?:should|must) have the same vocab"
)
_FIXES = (
    "Use the draft checkpoint that was trained for this target (same hidden size, same captured layers):"
    " --speculative-draft-model-path.",
    "If it is the right one, its config.json doesn't belong to its weights: fetch both again from one"
    " --speculative-draft-model-revision.",
)
_QUANTIZATION = "Don't quantize the draft with the target's method: --speculative-draft-model-quantization unquant."


def match(context: Context) -> Finding | None:
    """The draft's own checks, a matrix product inside the draft, or weights that don't go into it."""
    found = context.first(_FC)
    if found:
        return _fc_finding(found[1])
    found = context.first(_FEATURES)
    if found:
        return _widths(int(found[1]["got"]), int(found[1]["expected"]), Confidence.CERTAIN)
    configured = context.first(_CONFIGURED)
    if configured:
        said = " ".join(configured[0].message.split())[:300]
        return _finding(
            "Draft model and target don't fit",
            f"The draft model's configuration doesn't fit the target: {said}",
            Confidence.CERTAIN,
        )
    sizes = next((one for item in context.block.exceptions if (one := read_mismatch(item.message)) and one.product), None)
    if sizes and _runs_draft(context.all_frames):
        return _widths(sizes.into, sizes.source, Confidence.LIKELY)
    if is_draft(context.all_frames) and loads_weights(context):
        return _by_weights(context)
    return None


def _runs_draft(frames: tuple[Frame, ...]) -> bool:
    """Whether the innermost step of speculative decoding on the stack runs the draft, not the target."""
    steps = [frame for frame in frames if "/speculative/" in frame.file or "/spec_decode/" in frame.file]
    if not steps or "target_worker" in (steps[-1].code or ""):
        return False
    return any("draft" in f"{frame.file.rsplit('/', 1)[-1]} {frame.function} {frame.code}".lower() for frame in steps)


def _widths(got: int, expected: int, confidence: Confidence) -> Finding:
    return Finding(
        kind=Kind.DRAFT_MODEL_MISMATCH,
        title=f"Draft model takes {expected} features, the target gives {got}",
        cause=f"Within the draft model a layer for inputs of width {expected} was given width {got}: the hidden sizes differ.",
        fixes=(*_FIXES, _QUANTIZATION),
        confidence=confidence,
        numbers=(Number(got, "width of the input", "message"), Number(expected, "width expected", "message")),
    )


def _by_weights(context: Context) -> Finding | None:
    """What `weights_format_mismatch` says of any checkpoint, said of the draft's."""
    told = weights_format_mismatch.match(context)
    if told is None:
        return None
    cause = f"The draft model's weights don't go into the model that its config.json describes: {told.cause}"
    return _finding("Draft checkpoint doesn't fit its configuration", cause, Confidence.LIKELY, _QUANTIZATION)


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


def _finding(title: str, cause: str, confidence: Confidence, *more: str) -> Finding:
    return Finding(Kind.DRAFT_MODEL_MISMATCH, title, cause, (*_FIXES, *more), confidence)


SIGNATURE = Signature(match)
