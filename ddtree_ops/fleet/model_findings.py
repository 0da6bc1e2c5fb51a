"""Findings between the models' config.json and the arguments: what SGLang would refuse after minutes, or get wrong."""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.launch_words import LaunchWords
from ddtree_ops.fleet.profile import Speculation
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.tree_masks import BACKEND_ARGUMENTS, tree_mask_problem
from ddtree_ops.runtime.memory import ModelShape

_LONGER_CONTEXT = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_DRAFTER = "use the drafter that was trained for this target (ddtree_serving.draft_model.path)"


def model_findings(release: Release, words: LaunchWords, target: ModelShape) -> Iterator[Finding]:
    """What the target's config alone tells."""
    yield from _context(release, words, target)
    yield from _heads(words, target)
    yield from _quantization(release, words, target)
    if release.spec.speculation is Speculation.DDTREE:
        yield from _masks(words, target)


def draft_findings(release: Release, words: LaunchWords, draft: ModelShape, target: ModelShape | None) -> Iterator[Finding]:
    """What the drafter's config tells, and both together."""
    path = release.spec.draft_model.path if release.spec.draft_model else "the drafter"
    if draft.architectures and not any("DFlash" in name for name in draft.architectures):
        named = ", ".join(draft.architectures)
        yield _error("draft_not_dflash", f"the drafter in {path} is {named}, no DFlash model", _DRAFTER, path)
        return
    yield from _block(release, draft, path)
    if target is not None:
        yield from _fit(draft, target, path)
    context, most = words.number("--context-length") or (target.max_context if target else None), draft.max_context
    if context is not None and most is not None and context > most:
        text = f"the drafter was made for {most} tokens, but requests may have {context}: beyond that its guesses get worse"
        fix = f"ddtree_serving.server_args.context-length: {most}, or a drafter with a longer context"
        yield Finding("draft_context", Severity.WARNING, text, fix, (f"{path}/config.json: max_position_embeddings {most}",))


def page_findings(release: Release, words: LaunchWords) -> Iterator[Finding]:
    """Page size, which needs no config."""
    page = words.number("--page-size")
    if release.spec.speculation is Speculation.DDTREE and page not in (None, 1):
        text = f"page size {page} with ddtree: accepted tree nodes are kept by remapping single slots"
        yield _error("tree_page_size", text, "ddtree_serving.server_args.page-size: 1", None)


def _masks(words: LaunchWords, target: ModelShape) -> Iterator[Finding]:
    for name in BACKEND_ARGUMENTS:
        backend = words.text(f"--{name}")
        problem = tree_mask_problem(backend, latent_attention=target.latent_attention) if backend else None
        if problem:
            seen = f"config.json of the target: kv_lora_rank {target.latent}" if target.latent else "--" + name
            text = f"attention back-end {backend} {problem}: branches of the tree would see each other, and answers be wrong"
            yield Finding("tree_mask_backend", Severity.ERROR, text, f"ddtree_serving.server_args.{name}: triton", (seen,))


def _context(release: Release, words: LaunchWords, target: ModelShape) -> Iterator[Finding]:
    context, most = words.number("--context-length"), target.max_context
    if context is None or most is None or context <= most:
        return
    allowed = release.server["environment"].get(_LONGER_CONTEXT, "").lower() in ("1", "true", "yes", "y", "on", "t")
    what = "answers beyond it are not to be trusted" if allowed else "SGLang refuses to start"
    yield Finding(
        "context_length",
        Severity.WARNING if allowed else Severity.ERROR,
        f"a context of {context} tokens is beyond the {most} that the target was made for: {what}",
        f"ddtree_serving.server_args.context-length: {most}, or leave it out",
        (f"{release.spec.model.path}/config.json: {most} tokens",),
    )


def _heads(words: LaunchWords, target: ModelShape) -> Iterator[Finding]:
    ranks = words.number("--tp-size") or 1
    if target.heads and target.heads % ranks:
        text = f"{target.heads} attention heads can't be split over {ranks} ranks"
        yield _error("tp_heads", text, f"ddtree_serving.server_args.tp-size: a divisor of {target.heads}", None)
    kv = None if target.latent_attention else target.kv_heads
    if kv and kv % ranks and ranks % kv:
        text = f"{kv} KV heads can neither be split over {ranks} ranks nor be repeated evenly"
        yield _error("tp_kv_heads", text, f"ddtree_serving.server_args.tp-size: a divisor or a multiple of {kv}", None)


def _quantization(release: Release, words: LaunchWords, target: ModelShape) -> Iterator[Finding]:
    asked, stored = words.text("--quantization"), target.quantization
    for refusal in release.hardware.argument_refusals if stored and not asked else ():
        if refusal.name == "quantization" and refusal.refuses(stored, release.spec.speculation):
            text = f"the weights are {stored}, refused on {release.hardware.name}: {refusal.reason}"
            yield _error("quantization_hardware", text, "use weights of another format", release.spec.model.path)
    if asked and stored and asked.split("_")[0].split("-")[0] != stored.split("_")[0].split("-")[0]:
        text = f"--quantization {asked}, but the weights say {stored}: SGLang takes only a few such pairs, and refuses the others"
        fix = "leave out ddtree_serving.server_args.quantization: the weights' own config is used"
        yield Finding("quantization_mismatch", Severity.WARNING, text, fix, (f"{release.spec.model.path}/config.json: {stored}",))


def _block(release: Release, draft: ModelShape, path: str) -> Iterator[Finding]:
    tree = release.spec.ddtree
    if tree is not None and draft.block_size is not None and draft.block_size != tree.block_size:
        text = f"ddtree_serving.ddtree.block_size is {tree.block_size}, but the drafter was trained for {draft.block_size}"
        yield _error("draft_block_size", text, f"ddtree_serving.ddtree.block_size: {draft.block_size}", path)


def _fit(draft: ModelShape, target: ModelShape, path: str) -> Iterator[Finding]:
    pairs = (
        ("draft_hidden_size", "hidden size", draft.hidden, target.hidden),
        ("draft_vocabulary", "vocabulary", draft.vocabulary, target.vocabulary),
        ("draft_target_layers", "number of target layers", draft.target_layers, target.layers),
    )
    for name, what, own, other in pairs:
        if own is not None and other is not None and own != other:
            yield _error(name, f"the drafter's {what} is {own}, the target's {other}", _DRAFTER, path)
    beyond = [one for one in draft.layer_ids if target.layers is not None and not 0 <= one < target.layers]
    if beyond:
        text = f"the drafter reads layer {beyond[0]}, but the target has layers 0 to {(target.layers or 1) - 1}"
        yield _error("draft_layer_ids", text, _DRAFTER, path)
    if draft.mask_token is not None and target.vocabulary is not None and draft.mask_token >= target.vocabulary:
        text = f"the drafter's mask token {draft.mask_token} is outside the target's {target.vocabulary} tokens"
        yield _error("draft_mask_token", text, _DRAFTER, path)


def _error(name: str, text: str, fix: str, directory: str | None) -> Finding:
    return Finding(name, Severity.ERROR, text, fix, (f"{directory}/config.json",) if directory else ())
