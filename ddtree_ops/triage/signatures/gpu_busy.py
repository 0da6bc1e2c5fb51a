"""GPUs whose memory is taken before the server has loaded anything."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# SGLang 0.4 to 0.5.13, srt/model_executor/model_runner.py: a ValueError in old releases, a RuntimeError later
_UNBALANCED = re.compile(
    r"The memory capacity is unbalanced\.(?:.{0,120}?pre_model_load_memory=(?P<least>[\d.]{1,20}).{0,40}?local_gpu_memory="
    r"(?P<own>[\d.]{1,20}))?",
    re.DOTALL,
)
# vLLM 0.9 on, v1/worker/gpu_worker.py and later utils
_NOT_FREE = re.compile(r"Free memory on device(?: \S+)? \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than")
# CUDA error 46, in the words of CUDA 11 to 13
_EXCLUSIVE = re.compile(r"CUDA-capable device(?:s|\(s\))? (?:are|is/are) busy or unavailable|cudaErrorDevicesUnavailable")

_FIXES = (
    "Find them with `nvidia-smi --query-compute-apps=pid,used_memory --format=csv` and stop them; a former server's memory is"
    " freed"
    " only up to two minutes after its end.",
    "100 % utilisation without any process is a leftover of a hang: the GPU needs a reset, or the host a reboot.",
)


def match(context: Context) -> Finding | None:
    """Free memory differs between the ranks' GPUs, or is less than asked for, or the GPUs take no further process."""
    found = context.first(_UNBALANCED)
    if found:
        return _unbalanced(found[1])
    found = context.first(_NOT_FREE)
    if found:
        free, total = found[1]["free"], found[1]["total"]
        return _finding(f"Only {free} of {total} GiB of a GPU were free when the server started.", Confidence.LIKELY)
    if context.first(_EXCLUSIVE):
        return _finding(
            "CUDA refuses another process: the GPU is in exclusive mode and used, or it is in a bad state.", Confidence.LIKELY
        )
    return None


def _unbalanced(found: re.Match[str]) -> Finding:
    """The difference is measured; that another process makes it is SGLang's guess."""
    amounts = ""
    if found["least"] and found["own"]:
        amounts = f": {found['least'][:5]} GB on the fullest, {found['own'][:5]} GB on this one"
    cause = f"Before the weights, the GPUs of this server had different amounts of free memory{amounts}; others may use them."
    return _finding(
        cause, Confidence.LIKELY, "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0 turns the check off where the difference is meant."
    )


def _finding(cause: str, confidence: Confidence, *more: str) -> Finding:
    return Finding(Kind.GPU_BUSY, "GPU memory is taken before the server starts", cause, (*_FIXES, *more), confidence)


SIGNATURE = Signature(match)
