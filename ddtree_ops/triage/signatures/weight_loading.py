"""Where weights are read and written into a model: functions and frames of SGLang's and vLLM's loaders."""

from __future__ import annotations

from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.signatures.context import Context, passes_through

#: Written for one parameter; SGLang 0.5.13.post1 layers/{linear,parameter,vocab_parallel_embedding}.py and moe/fused_moe_triton,
#: model_loader/weight_utils.py; vLLM has the same names.
WRITERS = frozenset(
    {
        "weight_loader",
        "weight_loader_v2",
        "default_weight_loader",
        "_weight_loader_impl",
        "_weight_loader_physical",
        "_load_w13",
        "_load_w2",
    }
    | {
        "load_column_parallel_weight",
        "load_row_parallel_weight",
        "load_merged_column_weight",
        "load_qkv_weight",
        "_load_model_weight_or_group_weight_scale",
    }
)
LOADERS = frozenset({"load_weights", "load_model", "load_weights_and_postprocess", "_load_module", "load_draft_model"})


def loads_weights(context: Context) -> bool:
    """Whether the exception came while a checkpoint's tensors were put into a model."""
    return passes_through(context.all_frames, functions=LOADERS | WRITERS)


def writes_parameter(context: Context) -> bool:
    """Whether the innermost of the application's frames write one tensor into one parameter."""
    own = [frame for frame in context.frames if frame.in_app][-3:]
    return any(frame.function in WRITERS for frame in own) and loads_weights(context)


def is_draft(frames: tuple[Frame, ...]) -> bool:
    """Whether the stack goes through the draft model of speculative decoding."""
    return any("/speculative/" in frame.file or "/spec_decode/" in frame.file for frame in frames)
