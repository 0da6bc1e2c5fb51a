"""A CUDA graph captured for one number of tokens per request and replayed with another.

The target verifies a whole tree (budget + 1 tokens) in one pass, but SGLang sizes the graph's inputs by
`speculative_num_draft_tokens`, which for DFLASH is the draft's block size, unless the algorithm says otherwise
(`get_num_tokens_per_bs_for_target_verify`, from 0.5.13 on).
"""

from __future__ import annotations

from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding, Number
from ddtree_ops.triage.numbers import Facts, explain, is_width
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through
from ddtree_ops.triage.signatures.sizes import Mismatch, read_mismatch

#: Where a captured graph's inputs are filled: SGLang 0.4.4 to 0.5.13, model_executor/cuda_graph_{runner,buffer_registry}.py,
#: speculative/*_cuda_graph_runner.py, and the attention back-ends' metadata.
_FILLING = frozenset({"replay_prepare", "fill_from", "populate_from_forward_batch", "_foreach_copy", "_grouped_foreach_copy_"})
_METADATA = "init_forward_metadata_replay"
_FIXES = (
    "Deploy a runtime whose DDTree algorithm tells the graph runner the verify pass's width (budget + 1) through"
    " get_num_tokens_per_bs_for_target_verify: SGLang 0.5.13 or later with the sglang-ddtree plugin.",
    "Until then start with --disable-cuda-graph: slower, but nothing is captured for a wrong width.",
)


def match(context: Context) -> Finding | None:
    """Sizes differ at dimension 0 (tokens) while a graph's inputs are filled, and one is a width of this configuration."""
    sizes = read_mismatch(context.ending.message)
    if sizes is None or sizes.dimension != 0 or not _fills_graph(context.frames):
        return None
    facts = context.facts
    known = bool(facts.server_args)
    if known and not (is_width(sizes.into, facts) or is_width(sizes.source, facts)):
        return None
    if not known and not passes_through(context.frames, file="/speculative/"):
        return None
    return Finding(
        kind=Kind.GRAPH_TOKEN_COUNT_MISMATCH,
        title=f"CUDA graph captured for {sizes.into} tokens, replayed with {sizes.source}",
        cause=_cause(context, sizes),
        fixes=_FIXES,
        confidence=Confidence.CERTAIN if known else Confidence.LIKELY,
        numbers=(*_explained(sizes.into, context), *_explained(sizes.source, context)),
    )


def _explained(value: int, context: Context) -> list[Number]:
    return explain(value, context.facts, context.frames)


def _fills_graph(frames: tuple[Frame, ...]) -> bool:
    if not passes_through(frames, file="graph") or any("eager" in (frame.function or "") for frame in frames):
        return False  # SGLang 0.5.14 fills the same buffers for a pass without a graph (`_eager_fb_view`)
    if passes_through(frames, functions=_FILLING) or any((frame.function or "").startswith(_METADATA) for frame in frames):
        return True
    own = [frame for frame in frames if frame.in_app]  # speculative/eagle_draft_cuda_graph_runner.py fills within `replay`
    return bool(own) and own[-1].function == "replay" and "graph" in own[-1].file.rsplit("/", 1)[-1]


def _cause(context: Context, sizes: Mismatch) -> str:
    verify = any("target_worker" in (frame.code or "") for frame in context.frames)
    graph = "The CUDA graph of the target's verify pass" if verify else "A CUDA graph"
    into, source = _meaning(sizes.into, context.facts), _meaning(sizes.source, context.facts)
    return f"{graph} was captured for {sizes.into} tokens{into} and replayed with {sizes.source}{source}."


def _meaning(value: int, facts: Facts) -> str:
    if not facts.server_args:
        return ""
    if not is_width(value, facts):
        return f" (no argument of this run gives that; a tree budget of {value - 1} plus its root would)"
    name = explain(value, facts)[0].expression.removesuffix(f" = {value}")
    block = ", the draft's block size" if _is_block_size(value, facts) and "block" not in name else ""
    return f" ({name}{block})"


def _is_block_size(value: int, facts: Facts) -> bool:
    """Printed by the draft runner, or what DFLASH drafts by where a tree's width is something else."""
    by_dflash = facts.integer("speculative_num_draft_tokens") == value and facts.integer("speculative_ddtree_budget") not in (
        None,
        value - 1,
    )
    return value == facts.block_size or by_dflash


SIGNATURE = Signature(match)
