"""Arguments of the server: logs, metrics, tracing and the public API.

Names, order and defaults are those of SGLang 0.5.13.post1, as its /server_info shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sglang.srt.arg_groups.memory import MemoryArgs


@dataclass
class ObservabilityArgs(MemoryArgs):
    """Logs, metrics, tracing and the public API."""

    custom_sigquit_handler: str | None = None
    log_level: str = "info"
    log_level_http: str | None = None
    log_requests: bool = False
    log_requests_level: int = 2
    log_requests_format: str = "text"
    log_requests_target: list[str] | None = None
    uvicorn_access_log_exclude_prefixes: list[str] = field(default_factory=list)
    crash_dump_folder: str | None = None
    show_time_cost: bool = False
    enable_metrics: bool = False
    grpc_http_sidecar_port: int | None = None
    enable_mfu_metrics: bool = False
    enable_metrics_for_all_schedulers: bool = False
    tokenizer_metrics_custom_labels_header: str = "x-custom-labels"
    tokenizer_metrics_allowed_custom_labels: list[str] | None = None
    extra_metric_labels: str | None = None
    bucket_time_to_first_token: list[str] | None = None
    bucket_inter_token_latency: list[str] | None = None
    bucket_e2e_request_latency: list[str] | None = None
    prompt_tokens_buckets: list[str] | None = None
    generation_tokens_buckets: list[str] | None = None
    gc_warning_threshold_secs: float = 0.0
    decode_log_interval: int = 40
    enable_request_time_stats_logging: bool = False
    kv_events_config: str | None = None
    enable_forward_pass_metrics: bool = False
    forward_pass_metrics_worker_id: str = ""
    forward_pass_metrics_ipc_name: str | None = None
    enable_trace: bool = False
    trace_modules: str = "request"
    otlp_traces_endpoint: str = "localhost:4317"
    export_metrics_to_file: bool = False
    export_metrics_to_file_dir: str | None = None
    stat_loggers: str | None = None
    api_key: str | None = None
    admin_api_key: str | None = None
    served_model_name: str | None = None
    weight_version: str = "default"
    chat_template: str | None = None
    hf_chat_template_name: str | None = None
    completion_template: str | None = None
    file_storage_path: str = "sglang_storage"
    enable_cache_report: bool = False
    reasoning_parser: str | None = None
    strip_thinking_cache: bool = False
    enable_strict_thinking: bool = False
    tool_call_parser: str | None = None
    tool_server: str | None = None
    sampling_defaults: str = "model"
    asr_max_buffer_seconds: int = 60
    asr_max_concurrent_sessions: int = 32
