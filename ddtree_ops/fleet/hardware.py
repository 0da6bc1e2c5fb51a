"""The kinds of hosts we know, and what follows from each: identity, defaults, refusals.

Every value carries its reason and the key of a source (`source_url` makes an address of it). `measured` means that we
saw it ourselves; `inferred` means arithmetic or a careful guess, not yet seen on such a host. Where sources contradict
each other the cautious value stands here. A new kind of host is one more entry in this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ddtree_ops.errors import UsageError
from ddtree_ops.fleet.mistakes import nearest, nearest_words
from ddtree_ops.fleet.profile import Default, HardwareProfile, Interconnect, Refusal, When

__all__ = ["B300_8X", "PROFILES", "RTX_PRO_6000_8X", "HardwareProfile", "profile", "source_url"]

_SOURCES = {
    "RK:": "https://github.com/local-inference-lab/rtx6kpro/blob/e2c2b95/",
    "KS:": "https://github.com/soulmachine/skills/blob/204f18bf82d336c28a90e34ef42a57533b4bcf18/deploy-kimi-k26-on-rtx-pro-6000/",
    "MG:": "https://github.com/magik6k/glm-kimi-sm120-rtx6000bw/blob/2de0f5a730b9ccf0dc534cb55ecf4fb1b1b32c09/",
    "IX:": "https://github.com/SemiAnalysisAI/InferenceX/pull/",
    "sgl#": "https://github.com/sgl-project/sglang/issues/",
    "fi#": "https://github.com/flashinfer-ai/flashinfer/issues/",
}
_ARGS = "sglang 0.5.13.post1, server_args.py"

_COMMON_ARGS = (
    Default("tp-size", 8, "one rank per GPU; Kimi K2.x needs all eight", "RK:models/kimi-k25.md"),
    Default("trust-remote-code", True, "Kimi K2.x ships its own model code", "KS:SKILL.md"),
    Default("speculative-draft-attention-backend", "flashinfer", "a draft must not inherit the target's MLA back-end",
            "sgl#23490", When.WITH_DRAFT),
    Default("model-loader-extra-config", {"enable_multithread_load": True, "num_threads": 16},
            "threads cut a cold load from 24:46 to 6:11", "sgl#18124"),
    Default("watchdog-timeout", 3600, "first starts compile kernels for minutes", "sgl#28528"),
    Default("enable-metrics", True, "readiness, monitoring and acceptance figures are read from /metrics", _ARGS),
)  # fmt: skip

_COMMON_ENVIRONMENT = (
    Default("CUDA_HOME", "/usr/local/cuda", "kernels are compiled with the host's CUDA 13", "sgl#14075"),
    Default("TRITON_PTXAS_PATH", "/usr/local/cuda/bin/ptxas", "Triton's own is too old for Blackwell", "sgl#14075"),
    Default("OMP_NUM_THREADS", "8", "more threads per rank only contend", "KS:REFERENCE.md"),
    Default("HF_HUB_OFFLINE", "1", "weights are local; no hub traffic at start", "KS:SKILL.md"),
    Default("TRANSFORMERS_OFFLINE", "1", "weights are local; no hub traffic at start", "KS:SKILL.md"),
)  # fmt: skip

RTX_PRO_6000_8X = HardwareProfile(
    name="rtx-pro-6000-8x",
    title="8x RTX PRO 6000 Blackwell Server Edition",
    gpu_count=8,
    gpu_names=("NVIDIA RTX PRO 6000 Blackwell Server Edition",),
    sibling_names=("NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
                   "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"),
    compute_cap="12.0",
    memory_mib=97887,
    shared_memory_bytes=101376,
    interconnect=Interconnect.PCIE,
    driver_floor=580,
    sources={
        "gpu_count": "eight equal rows in nvidia-smi (MG:configs/gpu-info.txt)",
        "gpu_names": "as nvidia-smi prints it (MG:configs/gpu-info.txt)",
        "sibling_names": "same chip, other cooling or power (RK:daily-summaries/2026-05/2026-05-11.md)",
        "compute_cap": "sm_120; neither sm_90 nor sm_100 kernels run (MG:configs/gpu-info.txt)",
        "memory_mib": "nvidia-smi memory.total, drivers 580.95.05 and 610.43.02 (MG:configs/gpu-info.txt)",
        "shared_memory_bytes": "99 KiB opt-in maximum (MG:FINDINGS.md)",
        "interconnect": "PCIe Gen5 x16, fabric GUID all zero (MG:configs/nvidia-smi-full.txt)",
        "driver_floor": "CUDA 13 needs R580; 570 suffices for CUDA 12 only (MG:configs/nvidia-smi-full.txt)",
    },
    server_args=(
        *_COMMON_ARGS,
        Default("attention-backend", "flashinfer", "trtllm kernels do not exist for sm_120", "sgl#12325", When.NO_TREE),
        Default("attention-backend", "triton", "honours the tree mask for MLA; FlashInfer's MLA ignores it", _ARGS,
                When.WITH_TREE),
        Default("page-size", 1, "FlashInfer's MLA and tree verification both want 1", _ARGS),
        Default("mem-fraction-static", 0.85, "0.90 crashed with vision on", "KS:REFERENCE.md", When.NO_DRAFT),
        Default("mem-fraction-static", 0.80, "room for draft weights, their KV and wider graphs", "inferred",
                When.WITH_DRAFT),
        Default("chunked-prefill-size", 8192, "16384 is the usual value, 8192 when memory is tight", "KS:REFERENCE.md"),
        Default("cuda-graph-max-bs", 8, "graphs of large batches cost gigabytes per rank", "sgl#24453"),
        Default("max-running-requests", 8, "every batch finds its graph; unset, DFLASH takes 48", _ARGS),
        Default("disable-custom-all-reduce", True, "it turns itself off on more than two PCIe GPUs", "KS:REFERENCE.md"),
    ),
    environment=(
        *_COMMON_ENVIRONMENT,
        Default("NCCL_P2P_LEVEL", "SYS", "peer access across both sockets", "RK:optimization/nccl-tuning.md"),
        Default("NCCL_IB_DISABLE", "1", "one node, no InfiniBand", "RK:optimization/nccl-tuning.md"),
        Default("SGLANG_ENABLE_JIT_DEEPGEMM", "0", "DeepGEMM has no sm_120 kernels", "sgl#30059"),
        Default("FLASHINFER_USE_CUDA_NORM", "1", "the CuTe-DSL norm breaks the compiler", "KS:REFERENCE.md"),
        Default("CUTE_DSL_ARCH", "sm_120a", "compile for this card", "RK:models/kimi-k26-v4.md"),
        Default("TORCH_CUDA_ARCH_LIST", "12.0", "compile for this card only", "IX:1056"),
        Default("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", "less fragmentation",
                "RK:inference-engines/sglang.md"),
    ),
    argument_refusals=(
        Refusal("attention-backend", frozenset({"trtllm_mla", "trtllm_mha", "fa3", "fa4", "flashmla", "cutlass_mla"}),
                "has no kernels for sm_120", "sgl#12325"),
        Refusal("moe-runner-backend", frozenset({"flashinfer_trtllm", "flashinfer_trtllm_routed", "deep_gemm"}),
                "has no kernels for sm_120", "sgl#30059"),
        Refusal("speculative-draft-attention-backend", frozenset({"trtllm_mla", "trtllm_mha", "fa3", "fa4"}),
                "has no kernels for sm_120", "sgl#12325"),
        Refusal("enable-flashinfer-allreduce-fusion", frozenset(), "needs NVLink and sm_90 or sm_100",
                "RK:optimization/nccl-tuning.md"),
        Refusal("enable-symm-mem", frozenset(), "symmetric memory needs NVLink", "IX:1050"),
        Refusal("quantization", frozenset({"modelopt_fp4", "nvfp4"}), "NVFP4 gives NaN on sm_120; use native INT4",
                "KS:SKILL.md"),
    ),
    environment_refusals=(
        Refusal("SGLANG_ENABLE_JIT_DEEPGEMM", frozenset({"1", "true"}), "DeepGEMM has no sm_120 kernels", "sgl#30059"),
    ),
)  # fmt: skip

B300_8X = HardwareProfile(
    name="b300-8x",
    title="8x B300 SXM6",
    gpu_count=8,
    gpu_names=("NVIDIA B300 SXM6 AC",),
    sibling_names=("NVIDIA B30Z",),
    compute_cap="10.3",
    memory_mib=275040,
    shared_memory_bytes=232448,
    interconnect=Interconnect.NVLINK,
    driver_floor=580,
    sources={
        "gpu_count": "one HGX board (sgl#34340)",
        "gpu_names": "as nvidia-smi prints it (fi#4486)",
        "sibling_names": "another name seen for sm_103 (fi#4486)",
        "compute_cap": "sm_103; a price list says 10.0, devices say 10.3 (fi#4486)",
        "memory_mib": "nvidia-smi memory.total; never the 288 GB of the price list (fi#4486)",
        "shared_memory_bytes": "227 KiB (inferred)",
        "interconnect": "NVLink 5 through NVSwitch (inferred)",
        "driver_floor": "580.95.05 is the oldest driver seen working (fi#4814)",
    },
    server_args=(
        *_COMMON_ARGS,
        Default("attention-backend", "triton", "trtllm_mla, SGLang's own choice here, ignores the tree mask", _ARGS,
                When.WITH_TREE),
        Default("page-size", 64, "trtllm_mla takes pages of 32 or 64", _ARGS, When.NO_TREE),
        Default("page-size", 1, "accepted tree nodes are kept by remapping single slots", _ARGS, When.WITH_TREE),
        Default("moe-runner-backend", "marlin", "trtllm-gen MoE kernels deadlock on sm_103", "sgl#34340"),
        Default("mem-fraction-static", 0.85, "room for graphs and the draft", "sgl#28528"),
        Default("chunked-prefill-size", 32768, "fits the larger memory", "sgl#28528"),
        Default("cuda-graph-max-bs", 32, "160 was seen once; graphs of large batches cost gigabytes", "sgl#24453"),
        Default("max-running-requests", 32, "every batch finds its graph; unset, DFLASH takes 48", _ARGS),
    ),
    environment=(
        *_COMMON_ENVIRONMENT,
        Default("TORCH_CUDA_ARCH_LIST", "10.3", "compile for this card only", "IX:1056"),
    ),
    environment_refusals=(
        Refusal("TORCH_CUDA_ARCH_LIST", frozenset({"10.0", "10.0a"}), "is B200's; this card is 10.3", "IX:1056"),
    ),
)  # fmt: skip

PROFILES: Mapping[str, HardwareProfile] = MappingProxyType({profile.name: profile for profile in (RTX_PRO_6000_8X, B300_8X)})


def profile(name: str) -> HardwareProfile:
    """The profile of that name. Raises UsageError with the nearest names."""
    if name in PROFILES:
        return PROFILES[name]
    raise UsageError(
        f"no hardware profile is named {name!r}{nearest(name, PROFILES)}",
        hint=f"known are {', '.join(nearest_words(name, PROFILES) or PROFILES)}",
    )


def source_url(source: str) -> str | None:
    """The address behind a source key, or None for what isn't on the web (`measured`, `inferred`, a release's file)."""
    for prefix, address in _SOURCES.items():
        if source.startswith(prefix):
            return address + source.removeprefix(prefix)
    return None
