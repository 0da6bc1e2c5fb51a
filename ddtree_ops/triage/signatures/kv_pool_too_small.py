"""No memory left for the KV pool within the static share."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# SGLang 0.5.13.post1, srt/model_executor/pool_configurator.py; before that model_runner.py, init_memory_pool
_MESSAGE = re.compile(r"Not enough memory\. Please try to increase --mem-fraction-static")


def match(context: Context) -> Finding | None:
    """The pool's size came out as nothing."""
    if context.first(_MESSAGE) is None:
        return None
    fraction = context.facts.server_args.get("mem_fraction_static")
    setting = f"--mem-fraction-static {fraction}" if isinstance(fraction, float) else "--mem-fraction-static"
    return Finding(
        kind=Kind.KV_POOL_TOO_SMALL,
        title="No room for the KV cache",
        cause=f"After the weights nothing is left for the KV cache within the share of GPU memory that {setting} allows.",
        fixes=(
            "Raise --mem-fraction-static (0.8 to 0.9 is usual on a GPU that serves one model).",
            "If raising it runs out of memory instead: fewer weights per GPU (higher --tp-size, quantization, no draft"
            " model), smaller --cuda-graph-max-bs and --chunked-prefill-size.",
        ),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match)
