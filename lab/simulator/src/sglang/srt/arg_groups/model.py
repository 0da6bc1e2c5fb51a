"""Arguments of the server: weights, tokenizer, address, data types.

Names, order and defaults are those of SGLang 0.5.13.post1, as its /server_info shows them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ModelArgs:
    """Weights, tokenizer, address, data types."""

    model_path: str = ""
    tokenizer_path: str | None = None
    tokenizer_mode: str = "auto"
    tokenizer_backend: str = "huggingface"
    tokenizer_worker_num: int = 1
    detokenizer_worker_num: int = 1
    skip_tokenizer_init: bool = False
    load_format: str = "auto"
    model_loader_extra_config: str = "{}"
    trust_remote_code: bool = False
    context_length: int | None = None
    is_embedding: bool = False
    prefill_only_disable_kv_cache: bool = False
    enable_multimodal: bool | None = None
    revision: str | None = None
    model_impl: str = "auto"
    model_config_parser: str = "auto"
    host: str = "127.0.0.1"
    port: int = 30000
    fastapi_root_path: str = ""
    grpc_mode: bool = False
    skip_server_warmup: bool = False
    warmups: str | None = None
    nccl_port: int | None = None
    checkpoint_engine_wait_weights_before_ready: bool = False
    ssl_keyfile: str | None = None
    ssl_certfile: str | None = None
    ssl_ca_certs: str | None = None
    ssl_keyfile_password: str | None = None
    enable_ssl_refresh: bool = False
    enable_http2: bool = False
    dtype: str = "auto"
    quantization: str | None = None
    quantization_param_path: str | None = None
    kv_cache_dtype: str = "auto"
    enable_fp32_lm_head: bool = False
    modelopt_quant: str | None = None
    modelopt_checkpoint_restore_path: str | None = None
    modelopt_checkpoint_save_path: str | None = None
    modelopt_export_path: str | None = None
    quantize_and_serve: bool = False
    rl_quant_profile: str | None = None
