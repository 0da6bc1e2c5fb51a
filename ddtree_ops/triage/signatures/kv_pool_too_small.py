"""No memory left for the KV pool within the static share: the opposite fix of CUDA's "out of memory"."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# SGLang 0.5.13.post1, srt/model_executor/pool_configurator.py (before that model_runner.py, init_memory_pool) and
# model_runner_kv_cache_mixin.py for hybrid models; vLLM, v1/core/kv_cache_utils.py and its predecessors
_MESSAGE = re.compile(
    r"Not enough memory\. Please try to increase --mem-fraction-static"
    r"|Not enough GPU memory for hybrid .{1,40} state cache|state cache is too small to serve any requests"
    r"|No available memory for the cache blocks"
)
_ONE_REQUEST = re.compile(
    r"max seq len \((?P<length>\d{1,18})\)(?:,? \((?P<needed>[\d.]{1,20} GiB) KV cache is needed, which is larger than the"
    r" available KV cache memory \((?P<there>[\d.]{1,20} GiB)\)"
    r"| is larger than the maximum number of tokens that can be stored in KV cache \((?P<tokens>\d{1,18})\))"
)
_FEWER = (
    "If that runs out of memory instead: fewer weights per GPU (higher --tp-size, quantization, no draft model), smaller"
    " --cuda-graph-max-bs and --chunked-prefill-size."
)


def match(context: Context) -> Finding | None:
    """The pool's size came out as nothing, or as less than one request of full length."""
    found = context.first(_MESSAGE)
    if found:
        return _nothing(context)
    found = context.first(_ONE_REQUEST)
    if found is None:
        return None
    length, needed, there, tokens = (found[1][name] for name in ("length", "needed", "there", "tokens"))
    has = f"{there} are there for {needed}" if needed else f"there is room for {tokens}"
    return Finding(
        kind=Kind.KV_POOL_TOO_SMALL,
        title="The KV cache can't hold one request of full length",
        cause=f"A request may have {length} tokens, but {has}.",
        fixes=("Allow less context (--context-length), or give the cache more memory (--mem-fraction-static).", _FEWER),
        confidence=Confidence.CERTAIN,
    )


def _nothing(context: Context) -> Finding:
    fraction = context.facts.server_args.get("mem_fraction_static")
    setting = f"--mem-fraction-static {fraction}" if isinstance(fraction, float) else "--mem-fraction-static"
    return Finding(
        kind=Kind.KV_POOL_TOO_SMALL,
        title="No room for the KV cache",
        cause=f"After the weights nothing is left for the KV cache within the share of GPU memory that {setting} allows.",
        fixes=("Raise --mem-fraction-static (0.8 to 0.9 is usual on a GPU that serves one model).", _FEWER),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match)
