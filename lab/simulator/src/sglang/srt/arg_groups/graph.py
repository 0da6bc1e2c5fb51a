"""Arguments of the server: offloading, CUDA graphs and compilation.

Names, order and defaults are those of SGLang 0.5.13.post1, as its /server_info shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sglang.srt.arg_groups.expert import ExpertArgs


@dataclass
class GraphArgs(ExpertArgs):
    """Offloading, CUDA graphs and compilation."""

    kt_weight_path: str | None = None
    kt_method: str = "AMXINT4"
    kt_cpuinfer: int | None = None
    kt_threadpool_count: int = 2
    kt_num_gpu_experts: int | None = None
    kt_max_deferred_experts_per_token: int | None = None
    dllm_algorithm: str | None = None
    dllm_algorithm_config: str | None = None
    cpu_offload_gb: int = 0
    offload_group_size: int = -1
    offload_num_in_group: int = 1
    offload_prefetch_step: int = 1
    offload_mode: str = "cpu"
    enable_mis: bool = False
    disable_radix_cache: bool = False
    cuda_graph_max_bs: int | None = None
    cuda_graph_bs: list[int] | None = None
    disable_cuda_graph: bool = False
    disable_cuda_graph_padding: bool = False
    enable_breakable_cuda_graph: bool = False
    enable_profile_cuda_graph: bool = False
    enable_cudagraph_gc: bool = False
    debug_cuda_graph: bool = False
    enable_layerwise_nvtx_marker: bool = False
    enable_nccl_nvls: bool = False
    enable_symm_mem: bool = False
    disable_flashinfer_cutlass_moe_fp4_allgather: bool = False
    enable_tokenizer_batch_encode: bool = False
    disable_tokenizer_batch_decode: bool = False
    disable_outlines_disk_cache: bool = False
    disable_custom_all_reduce: bool = False
    enable_mscclpp: bool = False
    enable_torch_symm_mem: bool = False
    pre_warm_nccl: bool = False
    disable_overlap_schedule: bool = False
    enable_mixed_chunk: bool = False
    enable_dp_attention: bool = False
    enable_dp_attention_local_control_broadcast: bool = False
    enable_dp_lm_head: bool = False
    enable_two_batch_overlap: bool = False
    enable_single_batch_overlap: bool = False
    tbo_token_distribution_threshold: float = 0.48
    enable_torch_compile: bool = False
    disable_piecewise_cuda_graph: bool = False
    enforce_piecewise_cuda_graph: bool = False
    enable_torch_compile_debug_mode: bool = False
    torch_compile_max_bs: int = 32
    piecewise_cuda_graph_max_tokens: int | None = None
    piecewise_cuda_graph_tokens: list[int] | None = None
    piecewise_cuda_graph_compiler: str = "eager"
    torchao_config: str = ""
