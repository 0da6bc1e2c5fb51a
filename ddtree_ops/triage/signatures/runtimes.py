"""Fixes in the words of the server that runs: the signatures name SGLang's arguments, vLLM has other names for most of them."""

from __future__ import annotations

import re
from dataclasses import replace

from ddtree_ops.triage.model import Finding
from ddtree_ops.triage.signatures.context import Context, passes_through

#: SGLang's argument and vLLM's with that meaning (vLLM 0.11, engine/arg_utils.py); None: vLLM has nothing like it.
VLLM: dict[str, str | None] = {
    "--bf16-gemm-backend": None,
    "--chunked-prefill-size": "--max-num-batched-tokens",
    "--context-length": "--max-model-len",
    "--cuda-graph-max-bs": "--max-cudagraph-capture-size",
    "--disable-cuda-graph": "--enforce-eager",
    "--disable-radix-cache": "--no-enable-prefix-caching",
    "--dist-init-addr": None,
    "--dist-timeout": None,
    "--ep-size": None,
    "--fp4-gemm-backend": None,
    "--fp8-gemm-backend": None,
    "--max-running-requests": "--max-num-seqs",
    "--max-total-tokens": "--kv-cache-memory-bytes",
    "--mem-fraction-static": "--gpu-memory-utilization",
    "--model-path": "--model",
    "--moe-runner-backend": None,
    "--nccl-port": None,
    "--page-size": "--block-size",
    "--schedule-conservativeness": None,
    "--speculative-algorithm": "--speculative-config",
    "--speculative-draft-model-path": "--speculative-config",
    "--speculative-draft-model-quantization": "--speculative-config",
    "--speculative-draft-model-revision": "--speculative-config",
    "--tp-size": "--tensor-parallel-size",
    "--watchdog-timeout": None,
}
_ARGUMENT = re.compile(r"--[a-z][a-z0-9-]{1,60}")
_VALUE = re.compile(r" \(now [^()]{1,40}\)")
_OTHERS = ("/tensorrt_llm/", "/lmdeploy/")


def in_its_words(context: Context, finding: Finding) -> Finding:
    """The finding with the arguments of the server whose frames these are; what it has no argument for is left out."""
    frames = context.all_frames
    if context.facts.server_args or passes_through(frames, file="/sglang/"):
        return finding
    if passes_through(frames, file="/vllm/"):
        return _translated(finding, VLLM, "vLLM")
    if any(passes_through(frames, file=file) for file in _OTHERS):
        return _translated(finding, dict.fromkeys(VLLM), None)
    return finding


def _translated(finding: Finding, names: dict[str, str | None], server: str | None) -> Finding:
    fixes = tuple(text for fix in finding.fixes if (text := _fix(fix, names, server)))
    cause = finding.cause
    if cause:
        cause = _ARGUMENT.sub(lambda found: names.get(found[0], found[0]) or found[0], cause)
        cause = cause.replace("SGLang", server) if server else cause
    return replace(finding, cause=cause, fixes=fixes)


def _fix(text: str, names: dict[str, str | None], server: str | None) -> str | None:
    if any(names.get(name, name) is None for name in _ARGUMENT.findall(text)):
        return None
    text = _ARGUMENT.sub(lambda found: names.get(found[0]) or found[0], _VALUE.sub("", text))
    return text.replace("an SGLang", f"a {server}").replace("SGLang", server) if server else text
