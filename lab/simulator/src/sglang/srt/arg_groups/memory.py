"""Arguments of the server: memory, scheduling, tensor and pipeline parallelism.

Names, order and defaults are those of SGLang 0.5.13.post1, as its /server_info shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sglang.srt.arg_groups.model import ModelArgs


@dataclass
class MemoryArgs(ModelArgs):
    """Memory, scheduling, tensor and pipeline parallelism."""

    mem_fraction_static: float | None = None
    max_running_requests: int | None = None
    max_queued_requests: int | None = None
    max_total_tokens: int | None = None
    chunked_prefill_size: int | None = None
    enable_dynamic_chunking: bool = False
    max_prefill_tokens: int = 16384
    prefill_max_requests: int | None = None
    schedule_policy: str = "fcfs"
    enable_priority_scheduling: bool = False
    disable_priority_preemption: bool = False
    default_priority_value: int | None = None
    abort_on_priority_when_disabled: bool = False
    schedule_low_priority_values_first: bool = False
    priority_scheduling_preemption_threshold: int = 10
    schedule_conservativeness: float = 1.0
    page_size: int | None = None
    swa_full_tokens_ratio: float = 0.8
    disable_hybrid_swa_memory: bool = False
    radix_eviction_policy: str = "lru"
    enable_prefill_delayer: bool = False
    prefill_delayer_max_delay_passes: int = 30
    prefill_delayer_token_usage_low_watermark: float | None = None
    prefill_delayer_forward_passes_buckets: list[str] | None = None
    prefill_delayer_wait_seconds_buckets: list[str] | None = None
    prefill_delayer_queue_min_ratio: float | None = None
    prefill_delayer_max_delay_ms: int | None = None
    device: str | None = None
    tp_size: int = 1
    pp_size: int = 1
    pp_max_micro_batch_size: int | None = None
    pp_async_batch_depth: int = 0
    stream_interval: int = 1
    batch_notify_size: int = 16
    stream_response_default_include_usage: bool = False
    incremental_streaming_output: bool = False
    enable_streaming_session: bool = False
    random_seed: int | None = None
    constrained_json_whitespace_pattern: str | None = None
    constrained_json_disable_any_whitespace: bool = False
    watchdog_timeout: int = 300
    soft_watchdog_timeout: float | None = None
    dist_timeout: int | None = None
    download_dir: str | None = None
    model_checksum: str | None = None
    base_gpu_id: int = 0
    gpu_id_step: int = 1
    sleep_on_idle: bool = False
    load_snapshot_publish_interval: int = 15
    use_ray: bool = False
