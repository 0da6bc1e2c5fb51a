"""The parts of GPU memory, each by a formula. All results are bytes of one rank unless a name says otherwise."""

from __future__ import annotations

from ddtree_ops.runtime.memory.settings import MemorySettings
from ddtree_ops.runtime.memory.shape import ModelShape

GIB = 2**30
# Measured: H200 with 140.4 GiB by nvidia-smi had 139.13 GiB free before the load with one rank, 138.31 with two (SGLang
# 0.5.13.post1); 8x RTX PRO 6000 fit 1.8 to 2.0. CUDA context, driver, NCCL's buffers.
CONTEXT_ONE_RANK_GIB, CONTEXT_MORE_RANKS_GIB = 1.3, 2.05
VISION_BYTES = int(0.9e9)  # a MoonViT tower with its projector, not split over ranks; inferred from its size of 0.4 G parameters
GRAPH_BYTES = 0.04 * GIB  # measured: 0.03 to 0.04 GiB for four batch sizes of a tiny model, target and draft each
FIXED_BYTES = 0.5 * GIB  # workspaces of attention back-ends; SGLang's own rule reserves as much (server_args.py)
_SPLITS = 8  # --triton-attention-num-kv-splits


def context_gib(settings: MemorySettings) -> float:
    """What CUDA, the driver and NCCL take before anything is loaded."""
    return CONTEXT_ONE_RANK_GIB if settings.ranks * settings.pipeline == 1 else CONTEXT_MORE_RANKS_GIB


def replicated_weights(shape: ModelShape, ranks: int) -> int:
    """Bytes that every rank holds whole: MLA's down-projections, the router, a vision tower; KV heads beyond one a rank."""
    layers, hidden = shape.layers or 0, shape.hidden or 0
    values = 0
    if shape.latent is not None:
        values += layers * hidden * (shape.latent + (shape.rope_dim or 0) + (shape.q_latent or 0))
    elif shape.kv_heads and ranks > shape.kv_heads:
        width = (shape.head_dim or 0) + (shape.v_head_dim or 0)
        values += int(layers * hidden * width * (1 - shape.kv_heads / ranks) * ranks / max(1, ranks - 1))
    if shape.experts:
        values += layers * hidden * shape.experts
    return values * shape.dtype_bytes + (VISION_BYTES if shape.vision else 0)


def weights(file_bytes: int, shape: ModelShape, settings: MemorySettings) -> float:
    """`(files - replicated) / ranks + replicated`, through pipeline stages evenly."""
    whole = min(replicated_weights(shape, settings.ranks), file_bytes)
    return ((file_bytes - whole) / settings.ranks + whole) / settings.pipeline


def draft_weights(file_bytes: int, shape: ModelShape, settings: MemorySettings) -> float:
    """As `weights`; the projection of the captured layers (`fc`) is whole on every rank (srt/models/dflash.py)."""
    projection = (shape.hidden or 0) ** 2 * len(shape.layer_ids) * shape.dtype_bytes
    whole = min(projection, file_bytes)
    return (file_bytes - whole) / settings.ranks + whole


def kv_per_token(shape: ModelShape, settings: MemorySettings) -> int | None:
    """KV cache of one token (sglang 0.5.13.post1, model_executor/pool_configurator.py, _compute_cell_size); None: not known.

    MLA: (kv_lora_rank + qk_rope_head_dim) x layers x bytes, whole on every rank. Otherwise KV heads of the rank, at least one.
    """
    if not shape.layers:
        return None
    layers = -(-shape.layers // settings.pipeline)
    if shape.latent is not None:
        return int((shape.latent + (shape.rope_dim or 0)) * layers * settings.kv_bytes)
    if not shape.kv_heads or not shape.head_dim or not shape.v_head_dim:
        return None
    heads = max(1, shape.kv_heads // settings.ranks)
    return int(heads * (shape.head_dim + shape.v_head_dim) * layers * settings.kv_bytes)


def with_draft(cell: int, target: ModelShape, draft: ModelShape) -> int:
    """What SGLang reserves per token with DFLASH: the target's, scaled by layers (scale_kv_cell_size_per_token_for_dflash)."""
    if not target.layers or not draft.layers:
        return cell
    return -(-cell * (target.layers + draft.layers) // target.layers)


def activation_per_token(shape: ModelShape, draft: ModelShape | None, settings: MemorySettings) -> int:
    """The widest moment of a forward pass, roughly: eight hidden states, the rank's MLP, experts' inputs, captured layers."""
    hidden = shape.hidden or 0
    values = 8 * hidden + 3 * (shape.intermediate or 0) // settings.ranks
    values += (shape.experts_per_token or 0) * (hidden + 2 * (shape.expert_intermediate or 0) // settings.ranks)
    values += hidden * len(draft.layer_ids) if draft else 0
    return values * shape.dtype_bytes


def tree_buffers(shape: ModelShape, settings: MemorySettings) -> tuple[tuple[str, str, float], ...]:
    """Buffers that grow with batch x verify width, each as name, formula and bytes.

    Triton's are of init_cuda_graph_state (sglang 0.5.13.post1, layers/attention/triton_backend.py).
    """
    rows = settings.graph_batch * settings.verify_width
    batch = f"{settings.graph_batch} requests x {settings.verify_width} tokens"
    found = [(f"float32 logits of {batch}", f"{rows} x vocabulary x 4", rows * (shape.vocabulary or 0) * 4.0)]
    if settings.triton and settings.context:
        found.append((f"Triton's kv_indices for {batch}", f"{rows} x {settings.context} x 8", rows * settings.context * 8.0))
        found.append((f"tree mask for {batch}", f"{rows} x {settings.context} x 1", float(rows * settings.context)))
        width = shape.latent or shape.v_head_dim or 0
        heads = max(1, (shape.heads or 0) // settings.ranks)
        found.append(
            (
                "Triton's partial results",
                f"{rows} x {heads} heads x {_SPLITS} x {width} x 4",
                rows * heads * _SPLITS * width * 4.0,
            )
        )
    return tuple(found)
