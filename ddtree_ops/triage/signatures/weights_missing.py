"""No weights where the model should be."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# SGLang 0.5.13.post1, srt/model_loader/loader.py, _prepare_weights
_MESSAGE = re.compile(r"Cannot find any model weights with `(?P<path>[^`]+)`")


def match(context: Context) -> Finding | None:
    """The loader found no weight file in the model's directory."""
    found = context.first(_MESSAGE)
    if found is None:
        return None
    path = found[1]["path"]
    return Finding(
        kind=Kind.WEIGHTS_MISSING,
        title=f"No model weights in {path}",
        cause=f"The directory {path} holds no weight files that SGLang loads.",
        fixes=("Point the model path at a directory with weights, or finish the download.",),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match)
