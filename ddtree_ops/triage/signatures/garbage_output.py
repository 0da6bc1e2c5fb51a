"""The server answers, but with nonsense: our launcher has asked several times and gave up."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Signature

_WORDS = re.compile(r"/generate: (?P<what>garbage: .*)")  # sglang_ddtree/probe.py


def match_words(reason: str) -> Finding | None:
    """The launcher's last words."""
    found = _WORDS.fullmatch(reason)
    if found is None:
        return None
    return Finding(
        kind=Kind.GARBAGE_OUTPUT,
        title=f"The server answers with {found['what']}",
        cause="The model computes nonsense (NaN in the logits shows like this), though the server itself runs.",
        fixes=(
            "Try another attention or MoE back-end: a kernel may not fit this GPU.",
            "Look for a quantization that this back-end doesn't support, and check the weights' sha256.",
        ),
        confidence=Confidence.LIKELY,
    )


SIGNATURE = Signature(match_words=match_words)
