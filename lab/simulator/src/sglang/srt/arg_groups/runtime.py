"""Arguments of the server: kernel switches, determinism and debugging.

Names, order and defaults are those of SGLang 0.5.13.post1, as its /server_info shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sglang.srt.arg_groups.graph import GraphArgs


@dataclass
class RuntimeArgs(GraphArgs):
    """Kernel switches, determinism and debugging."""

    enable_p2p_check: bool = False
    triton_attention_reduce_in_fp32: bool = False
    triton_attention_num_kv_splits: int = 8
    triton_attention_split_tile_size: int | None = None
    num_continuous_decode_steps: int = 1
    delete_ckpt_after_loading: bool = False
    enable_memory_saver: bool = False
    enable_weights_cpu_backup: bool = False
    enable_draft_weights_cpu_backup: bool = False
    allow_auto_truncate: bool = False
    enable_custom_logit_processor: bool = False
    flashinfer_mla_disable_ragged: bool = False
    disable_shared_experts_fusion: bool = False
    enforce_shared_experts_fusion: bool = False
    disable_chunked_prefix_cache: bool = False
    disable_fast_image_processor: bool = False
    keep_mm_feature_on_device: bool = False
    enable_return_hidden_states: bool = False
    enable_return_routed_experts: bool = False
    enable_return_indexer_topk: bool = False
    enable_deepseek_v4_fp4_indexer: bool = False
    scheduler_recv_interval: int = 1
    numa_node: int | None = None
    enable_deterministic_inference: bool = False
    rl_on_policy_target: str | None = None
    enable_attn_tp_input_scattered: bool = False
    disable_attn_tp_gather: bool = False
    gc_threshold: list[int] | None = None
    kv_canary: str = "none"
    kv_canary_real_data: str = "none"
    kv_canary_sweep_interval: int = 0
    enable_dsa_prefill_context_parallel: bool = False
    dsa_prefill_cp_mode: str = "round-robin-split"
    enable_fused_qk_norm_rope: bool = False
    enable_precise_embedding_interpolation: bool = False
    enable_fused_moe_sum_all_reduce: bool = False
    enable_prefill_context_parallel: bool = False
    prefill_cp_mode: str = "in-seq-split"
    enable_dynamic_batch_tokenizer: bool = False
    dynamic_batch_tokenizer_batch_size: int = 32
    dynamic_batch_tokenizer_batch_timeout: float = 0.002
    debug_tensor_dump_output_folder: str | None = None
    debug_tensor_dump_layers: list[int] | None = None
    debug_tensor_dump_input_file: str | None = None
    debug_tensor_dump_inject: bool = False
