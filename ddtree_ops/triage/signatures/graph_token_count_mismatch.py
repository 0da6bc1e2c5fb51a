"""A CUDA graph captured for one number of tokens per request and replayed with another.

The target verifies a whole tree (budget + 1 tokens) in one pass, but SGLang sizes the graph's inputs by
`speculative_num_draft_tokens`, which for DFLASH is the draft's block size, unless the algorithm says otherwise
(`get_num_tokens_per_bs_for_target_verify`, from 0.5.13 on).
"""

from __future__ import annotations

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.numbers import Facts, explain, is_width
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through
from ddtree_ops.triage.signatures.sizes import Mismatch, read_mismatch

_FILLING = frozenset({"replay_prepare", "fill_from", "populate_from_forward_batch", "_foreach_copy", "_grouped_foreach_copy_"})
_FIXES = (
    "Deploy a runtime whose DDTree algorithm tells the graph runner the verify pass's width (budget + 1) through"
    " get_num_tokens_per_bs_for_target_verify: SGLang 0.5.13 or later with the sglang-ddtree plugin.",
    "Until then start with --disable-cuda-graph: slower, but nothing is captured for a wrong width.",
)


def match(context: Context) -> Finding | None:
    """Sizes differ at dimension 0 (tokens) while a graph's inputs are filled, and one is a width of this configuration."""
    sizes = read_mismatch(context.ending.message)
    if sizes is None or sizes.dimension != 0 or not _fills_graph(context):
        return None
    facts = context.facts
    known = bool(facts.server_args)
    if known and not (is_width(sizes.into, facts) or is_width(sizes.source, facts)):
        return None
    if not known and not passes_through(context.frames, file="/speculative/"):
        return None
    numbers = tuple(explain(sizes.into, facts) + explain(sizes.source, facts))
    return Finding(
        kind=Kind.GRAPH_TOKEN_COUNT_MISMATCH,
        title=f"CUDA graph captured for {sizes.into} tokens, replayed with {sizes.source}",
        cause=_cause(context, sizes),
        fixes=_FIXES,
        confidence=Confidence.CERTAIN if known else Confidence.LIKELY,
        numbers=numbers,
    )


def _fills_graph(context: Context) -> bool:
    return passes_through(context.frames, functions=_FILLING) and passes_through(context.frames, file="graph")


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
    block = ", the draft's block size" if value == facts.block_size and "block" not in name else ""
    return f" ({name}{block})"


SIGNATURE = Signature(match)
