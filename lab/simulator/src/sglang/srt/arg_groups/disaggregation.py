"""Arguments of the server: disaggregation, encoders, remote weights and plugins.

Names, order and defaults are those of SGLang 0.5.13.post1, as its /server_info shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sglang.srt.arg_groups.runtime import RuntimeArgs


@dataclass
class DisaggregationArgs(RuntimeArgs):
    """Disaggregation, encoders, remote weights and plugins."""

    disaggregation_mode: str = "null"
    disaggregation_transfer_backend: str = "mooncake"
    disaggregation_bootstrap_port: int = 8998
    disaggregation_ib_device: str | None = None
    disaggregation_decode_enable_radix_cache: bool = False
    disaggregation_decode_enable_offload_kvcache: bool = False
    num_reserved_decode_tokens: int = 512
    disaggregation_decode_polling_interval: int = 1
    optimistic_prefill_retries: int = 0
    encoder_only: bool = False
    language_only: bool = False
    encoder_transfer_backend: str = "zmq_to_scheduler"
    encoder_urls: list[str] = field(default_factory=list)
    encoder_bootstrap_port: int = 8997
    encoder_register_urls: list[str] = field(default_factory=list)
    enable_adaptive_dispatch_to_encoder: bool = False
    custom_weight_loader: list[str] = field(default_factory=list)
    weight_loader_disable_mmap: bool = False
    weight_loader_prefetch_checkpoints: bool = False
    weight_loader_prefetch_num_threads: int = 4
    weight_loader_drop_cache_after_load: bool = False
    remote_instance_weight_loader_seed_instance_ip: str | None = None
    remote_instance_weight_loader_seed_instance_service_port: int | None = None
    remote_instance_weight_loader_send_weights_group_ports: str | None = None
    remote_instance_weight_loader_backend: str = "nccl"
    remote_instance_weight_loader_start_seed_via_transfer_engine: bool = False
    engine_info_bootstrap_port: int = 6789
    modelexpress_config: str | None = None
    enable_pdmux: bool = False
    pdmux_config_path: str | None = None
    sm_group_num: int = 8
    enable_broadcast_mm_inputs_process: bool = False
    enable_prefix_mm_cache: bool = False
    mm_enable_dp_encoder: bool = False
    mm_process_config: dict[str, str] = field(default_factory=dict)
    limit_mm_data_per_request: str | None = None
    enable_mm_global_cache: bool = False
    decrypted_config_file: str | None = None
    decrypted_draft_config_file: str | None = None
    forward_hooks: list[str] | None = None
    enable_quant_communications: bool = False
    msprobe_dump_config: str | None = None
