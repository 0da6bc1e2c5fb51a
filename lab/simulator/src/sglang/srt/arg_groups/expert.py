"""Arguments of the server: experts, state-space models and the hierarchical cache.

Names, order and defaults are those of SGLang 0.5.13.post1, as its /server_info shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sglang.srt.arg_groups.speculative import SpeculativeArgs


@dataclass
class ExpertArgs(SpeculativeArgs):
    """Experts, state-space models and the hierarchical cache."""

    ep_size: int = 1
    moe_a2a_backend: str = "none"
    moe_runner_backend: str = "auto"
    flashinfer_mxfp4_moe_precision: str = "default"
    enable_flashinfer_allreduce_fusion: bool = False
    enforce_disable_flashinfer_allreduce_fusion: bool = False
    enable_aiter_allreduce_fusion: bool = False
    deepep_mode: str = "auto"
    deepep_dispatcher_output_dtype: str = "auto"
    ep_num_redundant_experts: int = 0
    ep_dispatch_algorithm: str | None = None
    init_expert_location: str = "trivial"
    enable_eplb: bool = False
    eplb_algorithm: str = "auto"
    eplb_rebalance_num_iterations: int = 1000
    eplb_rebalance_layers_per_chunk: int | None = None
    eplb_min_rebalancing_utilization_threshold: float = 1.0
    expert_distribution_recorder_mode: str | None = None
    expert_distribution_recorder_buffer_size: int = 1000
    enable_expert_distribution_metrics: bool = False
    deepep_config: str | None = None
    moe_dense_tp_size: int | None = None
    elastic_ep_backend: str | None = None
    enable_elastic_expert_backup: bool = False
    mooncake_ib_device: str | None = None
    enable_deepep_waterfill: bool = False
    elastic_ep_rejoin: bool = False
    max_mamba_cache_size: int | None = None
    mamba_ssm_dtype: str | None = None
    mamba_full_memory_ratio: float = 0.9
    mamba_scheduler_strategy: str = "no_buffer"
    mamba_track_interval: int = 256
    linear_attn_backend: str = "triton"
    linear_attn_decode_backend: str | None = None
    linear_attn_prefill_backend: str | None = None
    enable_hierarchical_cache: bool = False
    hicache_ratio: float = 2.0
    hicache_size: int = 0
    hicache_write_policy: str = "write_through"
    hicache_io_backend: str = "kernel"
    hicache_mem_layout: str = "layer_first"
    hicache_storage_backend: str | None = None
    hicache_storage_prefetch_policy: str = "timeout"
    hicache_storage_backend_extra_config: str | None = None
    enable_hisparse: bool = False
    hisparse_config: str | None = None
    enable_lmcache: bool = False
    lmcache_config_file: str | None = None
