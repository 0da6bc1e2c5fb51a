"""Fixes in the words of the server that runs: the signatures name SGLang's arguments, vLLM has other names for most of them.

A finding may quote the log; what stands there stays as it was printed.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ddtree_ops.triage.model import Finding
from ddtree_ops.triage.signatures.context import Context, passes_through

#: SGLang's argument and vLLM's with that meaning (vLLM 0.11, engine/arg_utils.py); None: vLLM has nothing like it.
VLLM: dict[str, str | None] = {
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
        return _translated(finding, _of_our_own(VLLM, context), None if "SGLang" in _said(context) else "vLLM")
    if any(passes_through(frames, file=file) for file in _OTHERS):
        return _translated(finding, _of_our_own(dict.fromkeys(VLLM), context), None)
    return finding


def _said(context: Context) -> str:
    return "\n".join((*(item.message for item in context.block.exceptions), context.block.text))


def _of_our_own(names: dict[str, str | None], context: Context) -> dict[str, str | None]:
    """Without the arguments that the log itself names: its server has them."""
    printed = frozenset(_ARGUMENT.findall(_said(context)))
    return {name: other for name, other in names.items() if name not in printed}


def _translated(finding: Finding, names: dict[str, str | None], server: str | None) -> Finding:
    fixes = tuple(text for fix in finding.fixes if (text := _fix(fix, names, server)))
    if finding.fixes and not fixes:
        fixes = (f"{server or 'This server'} has no argument like SGLang's for this: look into its documentation.",)
    return replace(finding, cause=_words(finding.cause, names, server) if finding.cause else None, fixes=fixes)


def _fix(text: str, names: dict[str, str | None], server: str | None) -> str | None:
    if any(names.get(name, name) is None for name in _ARGUMENT.findall(text)):
        return None
    return _words(_VALUE.sub("", text), names, server)


def _words(text: str, names: dict[str, str | None], server: str | None) -> str:
    text = _ARGUMENT.sub(lambda found: names.get(found[0]) or found[0], text)
    return text.replace("an SGLang", f"a {server}").replace("SGLang", server) if server else text
