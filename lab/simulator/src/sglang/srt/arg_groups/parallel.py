"""Arguments of the server: data parallelism, LoRA and kernel back-ends.

Names, order and defaults are those of SGLang 0.5.13.post1, as its /server_info shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sglang.srt.arg_groups.observability import ObservabilityArgs


@dataclass
class ParallelArgs(ObservabilityArgs):
    """Data parallelism, LoRA and kernel back-ends."""

    dp_size: int = 1
    load_balance_method: str = "round_robin"
    attn_cp_size: int = 1
    moe_dp_size: int = 1
    dist_init_addr: str | None = None
    nnodes: int = 1
    node_rank: int = 0
    json_model_override_args: str = "{}"
    preferred_sampling_params: str | None = None
    enable_lora: bool | None = None
    enable_lora_overlap_loading: bool | None = None
    max_lora_rank: int | None = None
    lora_target_modules: list[str] | None = None
    lora_paths: list[str] | None = None
    max_loaded_loras: int | None = None
    max_loras_per_batch: int = 8
    lora_eviction_policy: str = "lru"
    lora_backend: str = "csgmv"
    max_lora_chunk_size: int = 16
    experts_shared_outer_loras: str | None = None
    lora_use_virtual_experts: bool = False
    lora_strict_loading: bool = False
    lora_drain_wait_threshold: float = 0.0
    attention_backend: str | None = None
    decode_attention_backend: str | None = None
    prefill_attention_backend: str | None = None
    sampling_backend: str | None = None
    grammar_backend: str | None = None
    radix_cache_backend: str | None = None
    mm_attention_backend: str | None = None
    fp8_gemm_runner_backend: str = "auto"
    fp4_gemm_runner_backend: str = "auto"
    dsa_prefill_backend: str | None = None
    dsa_decode_backend: str | None = None
    dsa_topk_backend: str = "sgl-kernel"
    disable_flashinfer_autotune: bool = False
    mamba_backend: str = "triton"
